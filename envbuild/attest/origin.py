"""Where an image is from: plan, lock, provenance and SBOM against its labels and digests; pure."""

from typing import NamedTuple, TypeVar

import msgspec

from envbuild.attest import statement
from envbuild.attest.provenance import BUILD_TYPE
from envbuild.values.codec import Pairs, digest_of, load
from envbuild.values.lock import Lock
from envbuild.values.plan import Plan

T = TypeVar("T")
_VALUES = {statement.PLAN: ("envbuild.plan", Plan), statement.LOCK: ("envbuild.lock", Lock)}


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


class _Internal(msgspec.Struct, frozen=True):
    plan: str = ""
    lock: str = ""


class _Definition(msgspec.Struct, rename="camel"):
    build_type: str
    internal_parameters: _Internal = _Internal()


class _Provenance(msgspec.Struct, rename="camel"):
    build_definition: _Definition


class _Sbom(msgspec.Struct, rename="camel"):
    document_namespace: str


def foreign(kind: str, predicate: bytes, source: str, about: About) -> tuple[str, ...]:
    """Why a predicate is of another image than the one that is asked about; empty = it is of it.

    Raises:
        InputError: it is not of its kind.
    """
    if kind in _VALUES:
        label, of = _VALUES[kind]
        load(of, predicate, source)
        return _other(label, digest_of(predicate), about)
    if kind == statement.PROVENANCE:
        made = statement.decoded(
            predicate, _Provenance, f"{source} holds no provenance"
        ).build_definition
        # Somebody else's build has parameters of its own.
        if made.build_type != BUILD_TYPE:
            return ()
        own = made.internal_parameters
        return _other("envbuild.plan", own.plan, about) + _other("envbuild.lock", own.lock, about)
    if kind == statement.SBOM:
        name = statement.decoded(predicate, _Sbom, f"{source} holds no SBOM").document_namespace
        config = name.removeprefix(statement.LISTED)[:71]
        if (
            name.startswith(statement.LISTED)
            and len(about.digests) > 1
            and config not in about.digests
        ):
            return (f"it lists what is in another image, {config[:19]}",)
    return ()


def _other(label: str, named: str, about: About) -> tuple[str, ...]:
    built = about.labels.get(label)
    if not built or built == named:
        return ()
    return (f"the image was built from another {label.partition('.')[2]}, {built[:19]}",)
