"""From signed statements to one answer; pure: what was fetched and the time are its input.

Whoever can write to a registry can attach anything there: what no trusted key signed is passed
over and named. What somebody names himself, a file, must count as a whole.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from envbuild.attest import dsse, nodes, origin, result, statement
from envbuild.attest.origin import About as About
from envbuild.attest.policy import Policy, missing, unmet
from envbuild.attest.recompute import contradictions
from envbuild.attest.result import Result
from envbuild.errors import EnvbuildError, InputError
from envbuild.values.certificate import Certificate
from envbuild.values.codec import load, replace
from envbuild.values.verification import Evidence, Verification

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


class Found(NamedTuple):
    """Something that may be evidence.

    Attributes:
        source: where it is from.
        data: its bytes.
        named: somebody named it himself: it must count.
        fault: why it could not be had; empty = it could.
    """

    source: str
    data: bytes
    named: bool
    fault: str = ""


class Read(NamedTuple):
    """A piece of evidence, and the certificate or the test result in it where it is one.

    Attributes:
        digest: of the image that it is about.
        statement: digest of what was signed.
    """

    evidence: Evidence
    named: bool
    certificate: Certificate | None = None
    digest: str | None = None
    predicate: bytes = b""
    result: Result | None = None
    statement: str = ""


def split(data: bytes, name: str) -> tuple[Found, ...]:
    """A file as pieces of evidence: one certificate, or an envelope a line."""
    if _certificate(data, name) is not None:
        return (Found(name, data, named=True),)
    lines = data.splitlines()
    found = tuple(
        Found(f"{name}:{i}", line, named=True) for i, line in enumerate(lines, 1) if line.strip()
    )
    if not found:
        what = f"{name} is empty"
        raise InputError(what, fix="give what envbuild certify --sign KEY wrote")
    return found


def read(found: Found, keys: "tuple[Ed25519PublicKey, ...]", about: About) -> Read:
    """One piece of evidence, with what is wrong with it.

    Args:
        found: its bytes.
        keys: trusted; empty = whoever signed it, or nobody, is taken.
        about: what it must be about.
    """
    if found.fault:
        return Read(Evidence(source=found.source, problems=(found.fault,)), found.named)
    try:
        return _read(found, keys, about)
    except EnvbuildError as e:
        problem = ": ".join(filter(None, (e.what.removeprefix(found.source).strip(), e.why)))
        return Read(Evidence(source=found.source, problems=(problem,)), found.named)


def verify(
    found: Sequence[Read],
    *,
    about: About,
    policy: Policy,
    now: datetime,
    of_nodes: tuple[str, ...] = (),
) -> Verification:
    """Hold what was read against the policy.

    Args:
        found: from `read`.
        about: the image.
        policy: what is asked.
        now: certificates are aged against it.
        of_nodes: machines that each must have a certificate which names it.
    """
    sound = {
        one.statement: one.certificate
        for one in found
        if one.statement and one.certificate and _counts(one)
    }
    judged = [_judged(_matched(one, sound), policy, now) for one in found]
    accepted = [one.certificate for one in judged if one.certificate and _counts(one)]
    labelled = tuple(filter(None, (about.labels.get("envbuild.cc") or "").split(",")))
    promised = labelled or tuple(dict.fromkeys(cc for one in accepted for cc in one.cc))
    lacking = missing(accepted, policy, promised)
    return Verification(
        image=about.ref,
        digest=next(iter(about.digests), None) or next((r.digest for r in found if r.digest), None),
        evidence=tuple(one.evidence for one in judged),
        promised=promised,
        missing=lacking,
        reasons=(
            *_reasons(judged, accepted, lacking, about),
            *_failures([one for one in found if _counts(one)], accepted),
            *nodes.uncovered(
                [_proved(one) for one in judged if one.certificate and _counts(one)], of_nodes
            ),
        ),
    )


def _reasons(
    found: Sequence[Read], accepted: Sequence[Certificate], lacking: tuple[str, ...], about: About
) -> Iterator[str]:
    for one in found:
        if one.named and one.evidence.problems:
            yield f"{one.evidence.source}: {one.evidence.problems[0]}"
    if not accepted:
        yield "no certificate counts" if found else "there is no certificate"
    elif lacking:
        yield f"no certificate is from a GPU of cc {', '.join(lacking)}"
    if not about.digests and len({one.digest for one in found if one.digest}) > 1:
        yield "the files are about several images: name the one that is meant"


def _failures(sound: Sequence[Read], accepted: Sequence[Certificate]) -> Iterator[str]:
    """Certificates of this image by which it fails, and that no later pass answers.

    One from no GPU speaks of the image on all of them.
    """
    for one in sound:
        bad = one.certificate
        if bad is None or bad.exit != 6 or one.evidence.key is None:
            continue
        cc = _cc(bad)
        since = [c.finished for c in accepted if cc in {None, _cc(c)}]
        if since and max(since) <= bad.finished:
            where = f"from cc {cc}" if cc else "from no GPU"
            yield f"{one.evidence.source}: newer, {where}, and it says the image fails"


def _counts(one: Read) -> bool:
    return not one.evidence.problems


def _proved(one: Read) -> nodes.Proved:
    device = one.certificate.device if one.certificate else None
    return nodes.Proved(one.evidence.node or "", device.uuid if device else "")


def _matched(one: Read, sound: dict[str, Certificate]) -> Read:
    """A test result with what the certificate that it names says of it."""
    if one.result is None or one.evidence.problems:
        return one
    problem = result.wrong(one.result, sound)
    problems = (problem,) if problem else ()
    return one._replace(evidence=replace(one.evidence, problems=problems))


def _judged(one: Read, policy: Policy, now: datetime) -> Read:
    """The evidence with what the policy says of it."""
    if one.certificate is None or one.evidence.problems:
        return one
    problems = unmet(one.certificate, policy, now)
    return one._replace(evidence=replace(one.evidence, problems=problems))


def _read(found: Found, keys: "tuple[Ed25519PublicKey, ...]", about: About) -> Read:
    unsigned = _certificate(found.data, found.source) if found.named else None
    if unsigned is not None:
        says = ("it is not signed: nobody answers for it",) if keys else ()
        evidence = Evidence(
            source=found.source,
            kind=statement.CERTIFICATE,
            cc=_cc(unsigned),
            node=unsigned.node,
            problems=(
                *says,
                *_unlike(unsigned, about),
                *_foreign(unsigned.subject.digest, about),
                *contradictions(unsigned),
            ),
        )
        return Read(evidence, found.named, unsigned, unsigned.subject.digest, found.data)
    if keys:
        payload, key = dsse.verified(found.data, keys, found.source)
    else:
        payload, key = dsse.opened(found.data, found.source), None
    said = statement.read(payload, found.source)
    named, predicate = said.digest, bytes(said.predicate)
    certificate, short, problems = None, None, _foreign(named, about)
    if said.predicate_type == statement.CERTIFICATE:
        certificate = load(Certificate, predicate, found.source)
        if certificate.subject.digest != named:
            problems += (f"its statement names {named}, its certificate another image",)
        problems += _unlike(certificate, about) + contradictions(certificate)
    elif said.predicate_type == statement.TEST_RESULT:
        short = result.read(predicate, found.source)
    else:
        problems += origin.foreign(said.predicate_type, predicate, found.source, about)
    evidence = Evidence(
        source=found.source,
        kind=said.predicate_type,
        key=key,
        cc=_cc(certificate) if certificate else None,
        node=certificate.node if certificate else None,
        problems=problems,
    )
    of = result.digest_of(payload)
    return Read(evidence, found.named, certificate, named, predicate, short, of)


def _unlike(certificate: Certificate, about: About) -> tuple[str, ...]:
    """A certificate about no image, where one is asked about: a folder has no digest of one."""
    kind = certificate.subject.kind
    if about.digests and kind not in {"manifest", "config"}:
        return (f"it is about a {kind}, which is no image",)
    return ()


def _foreign(named: str | None, about: About) -> tuple[str, ...]:
    """Evidence about another image than the one that is asked about."""
    if not about.digests or named in about.digests:
        return ()
    return (f"it is about {named or 'nothing that has a digest'}",)


def _cc(certificate: Certificate) -> str | None:
    return certificate.device.cc if certificate.device else None


def _certificate(data: bytes, name: str) -> Certificate | None:
    """The certificate that a file is, None = it is something else."""
    if b'"envbuild/certificate/' not in data[:200]:
        return None
    return load(Certificate, data, name)
