"""The test result of a certificate, for policy engines that know no figures; pure.

Form: https://github.com/in-toto/attestation/blob/main/spec/predicates/test-result.md. It names the
statement that it was made from, so that no test result stands beside another's certificate.
"""

import hashlib
from typing import Literal

import msgspec

from envbuild.attest import statement
from envbuild.values.certificate import Certificate


class _Part(msgspec.Struct, frozen=True, omit_defaults=True):
    """A part of the configuration, as in-toto describes a resource."""

    name: str = ""
    digest: dict[str, str] = {}
    annotations: dict[str, str] = {}


class Result(msgspec.Struct, frozen=True, rename="camel"):
    """The predicate."""

    result: Literal["PASSED", "WARNED", "FAILED"]
    configuration: tuple[_Part, ...]
    passed_tests: tuple[str, ...] = ()
    warned_tests: tuple[str, ...] = ()
    failed_tests: tuple[str, ...] = ()

    @property
    def certificate(self) -> str | None:
        """Digest of the certificate's statement, None = an older release wrote this."""
        named = (part for part in self.configuration if part.name == "certificate")
        return next((part.digest.get("sha256") for part in named), None)


def digest_of(payload: bytes) -> str:
    """What a certificate's statement is named by: SHA-256 (hex) of what is signed."""
    return hashlib.sha256(payload).hexdigest()


def made(certificate: Certificate, digest: str) -> Result:
    """The test result that follows from a certificate.

    Args:
        certificate: what its statement says.
        digest: of that statement.
    """
    device, checks = certificate.device, [c for s in certificate.suites for c in s.checks]
    machine = {
        "device": device.name if device else "none",
        "cc": device.cc if device else "none",
        "driver": certificate.runtimes.driver or "none",
        "suites": ",".join(suite.name for suite in certificate.suites if suite.required),
    }
    return Result(
        result="PASSED" if certificate.exit == 0 else "FAILED",
        configuration=(
            _Part(name="machine", annotations=machine),
            _Part(name="certificate", digest={"sha256": digest}),
        ),
        passed_tests=tuple(check.id for check in checks if check.verdict == "pass"),
        warned_tests=tuple(check.id for check in checks if check.verdict == "inconclusive"),
        failed_tests=tuple(check.id for check in checks if check.verdict in {"fail", "void"}),
    )


def statements(certificate: Certificate) -> tuple[tuple[str, bytes], ...]:
    """What a certificate says, by predicate type: its figures, and which suites passed.

    Raises:
        InputError: it is a replay, or about no image that others could have.
    """
    subject = statement.subject_of(certificate)
    whole = statement.statement(*subject, statement.CERTIFICATE, certificate)
    short = msgspec.json.encode(made(certificate, digest_of(whole)))
    return (
        (statement.CERTIFICATE, whole),
        (statement.TEST_RESULT, statement.statement(*subject, statement.TEST_RESULT, short)),
    )


def read(predicate: bytes, name: str) -> Result:
    """The predicate.

    Raises:
        InputError: it is none.
    """
    return statement.decoded(predicate, Result, f"{name} holds no test result")


def wrong(found: Result, certificates: "dict[str, Certificate]") -> str:
    """Why a test result is not that of the certificate it names; empty = it is.

    Args:
        found: what was read.
        certificates: by the digest of their statement.
    """
    if found.certificate is None:
        return ""
    certificate = certificates.get(found.certificate)
    if certificate is None:
        return f"its certificate, {found.certificate[:12]}, is not among what counts"
    return "" if _same(found, made(certificate, found.certificate)) else "its certificate differs"


def _same(found: Result, wanted: Result) -> bool:
    """It says all that is wanted, where a later release may have said more."""
    parts = {part.name: part for part in found.configuration}
    return (
        (found.result, found.passed_tests, found.warned_tests, found.failed_tests)
        == (wanted.result, wanted.passed_tests, wanted.warned_tests, wanted.failed_tests)
        and len(parts) == len(found.configuration)
        and all(
            part.name in parts
            and part.annotations.items() <= parts[part.name].annotations.items()
            and part.digest.items() <= parts[part.name].digest.items()
            for part in wanted.configuration
        )
    )
