"""From signed statements to one answer; pure: what was fetched and the time are its input.

Whoever can write to a registry can attach anything there: what no trusted key signed is passed
over and named. What somebody names himself, a file, must count as a whole.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from envbuild.attest import dsse, nodes, statement
from envbuild.attest.policy import Policy, missing, unmet
from envbuild.attest.recompute import contradictions
from envbuild.errors import EnvbuildError, InputError
from envbuild.values.certificate import Certificate
from envbuild.values.codec import Pairs, digest, load, replace
from envbuild.values.lock import Lock
from envbuild.values.plan import Plan
from envbuild.values.verification import Evidence, Verification

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_LABELS = {statement.PLAN: ("envbuild.plan", Plan), statement.LOCK: ("envbuild.lock", Lock)}


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


class About(NamedTuple):
    """The image that is asked about; empty = whatever the files are about.

    Attributes:
        ref: as the user wrote it.
        digests: of its platform manifest (first) and its config.
        labels: of its config.
    """

    ref: str | None = None
    digests: tuple[str, ...] = ()
    labels: Pairs = Pairs()


class Read(NamedTuple):
    """A piece of evidence, and the certificate in it where it is one."""

    evidence: Evidence
    named: bool
    certificate: Certificate | None = None
    digest: str | None = None
    predicate: bytes = b""


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
    judged = [_judged(one, policy, now) for one in found]
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
    for one in found:
        bad = one.certificate
        if bad is None or bad.exit != 6 or one.evidence.key is None:
            continue
        device = bad.device.cc if bad.device else None
        since = [c for c in accepted if c.device and c.device.cc == device]
        if since and max(c.finished for c in since) < bad.finished:
            yield f"{one.evidence.source}: newer, from cc {device}, and it says the image fails"


def _counts(one: Read) -> bool:
    return not one.evidence.problems


def _proved(one: Read) -> nodes.Proved:
    device = one.certificate.device if one.certificate else None
    return nodes.Proved(one.evidence.node or "", device.uuid if device else "")


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
            problems=(*says, *_foreign(unsigned.subject.digest, about), *contradictions(unsigned)),
        )
        return Read(evidence, found.named, unsigned, unsigned.subject.digest)
    if keys:
        payload, key = dsse.verified(found.data, keys, found.source)
    else:
        payload, key = dsse.opened(found.data, found.source), None
    said = statement.read(payload, found.source)
    named, predicate = said.digest, bytes(said.predicate)
    certificate, problems = None, _foreign(named, about)
    if said.predicate_type == statement.CERTIFICATE:
        certificate = load(Certificate, predicate, found.source)
        if certificate.subject.digest != named:
            problems += (f"its statement names {named}, its certificate another image",)
        problems += contradictions(certificate)
    elif said.predicate_type in _LABELS:
        problems += _unlike(said.predicate_type, predicate, found.source, about)
    evidence = Evidence(
        source=found.source,
        kind=said.predicate_type,
        key=key,
        cc=_cc(certificate) if certificate else None,
        node=certificate.node if certificate else None,
        problems=problems,
    )
    return Read(evidence, found.named, certificate, named, predicate)


def _unlike(kind: str, predicate: bytes, source: str, about: About) -> tuple[str, ...]:
    """A plan or a lock that is not the one the image was built from."""
    label, of = _LABELS[kind]
    built, made = about.labels.get(label), digest(load(of, predicate, source))
    if not built or built == made:
        return ()
    return (f"the image was built from another {label.partition('.')[2]}, {built[:19]}",)


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
