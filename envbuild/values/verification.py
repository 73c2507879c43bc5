"""What a verification found: each piece of evidence, what is wrong with it, and what is missing."""

from typing import Literal

from envbuild.values.codec import Value


class Evidence(Value):
    """A statement about the image, or an unsigned certificate.

    Attributes:
        source: file and line, or the digest under which the registry has it.
        kind: predicate type.
        key: id of the trusted key that signed it, None = none did.
        cc: capability that a certificate is from, None = it is none, or from no GPU.
        node: machine that a certificate says it is from, None = it says none.
        problems: why it does not count; empty = it does.
    """

    source: str
    kind: str = ""
    key: str | None = None
    cc: str | None = None
    node: str | None = None
    problems: tuple[str, ...] = ()


class Verification(Value):
    """The answer to "may this image be used?".

    Attributes:
        image: reference that was asked for, None = files alone.
        digest: of the platform manifest, or what the files are about.
        promised: capabilities that the image promises, where that is known.
        missing: capabilities that no certificate that counts is from.
        reasons: why it failed; empty = verified.
    """

    schema: Literal["envbuild/verification/1"] = "envbuild/verification/1"
    image: str | None = None
    digest: str | None = None
    evidence: tuple[Evidence, ...] = ()
    promised: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Nothing speaks against it."""
        return not self.reasons
