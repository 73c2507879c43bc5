"""The images of a fleet: their names, and which nodes take which."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from envbuild.errors import InputError, NoPlanError
from envbuild.io import oci
from envbuild.render import quote
from envbuild.render.view import image_name, supported
from envbuild.values.plan import Fleet, FleetNode, Plan

# What Slurm and Kubernetes take as a node's name; no product and no capability has this form.
_HOST = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9-]+)*")
_LONGEST = 63  # characters of a label's value in Kubernetes
_SHORT = 40  # characters; Kubernetes adds to the name of a job
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_AGAIN = "envbuild plan --fleet hosts.yaml --split -o fleet.json"
_PUSH = "docker buildx bake --push --metadata-file images.json"


class Group(NamedTuple):
    """Nodes of a fleet that have something in common, and a name for them."""

    name: str
    cc: tuple[str, ...]
    nodes: tuple[FleetNode, ...]

    @property
    def machines(self) -> int:
        """How many machines they are."""
        return sum(node.count for node in self.nodes)

    @property
    def hosts(self) -> tuple[str, ...]:
        """Their names, where each is one machine and is called as a host is; else none."""
        alone = all(node.count == 1 and _is_host(node.name) for node in self.nodes)
        return tuple(node.name for node in self.nodes) if alone else ()


class Image(NamedTuple):
    """One image of a fleet.

    Attributes:
        ref: what it is pushed as, with its digest where that is known.
        taken: by which nodes; its name is that of the image's folder, bake target and jobs.
    """

    ref: str
    plan: Plan
    taken: Group

    @property
    def name(self) -> str:
        """What it is called in the fleet's folder."""
        return self.taken.name

    @property
    def classes(self) -> tuple[Group, ...]:
        """Its nodes by the cards that they have."""
        found: dict[tuple[str, ...], list[FleetNode]] = {}
        for node in self.taken.nodes:
            found.setdefault(tuple(quote.capability(cc) for cc in node.cc), []).append(node)
        return tuple(
            Group(self.name if len(found) == 1 else f"{self.name}-{i}", cc, tuple(nodes))
            for i, (cc, nodes) in enumerate(found.items(), 1)
        )


class _Baked(msgspec.Struct):
    """What bake says of a target, as far as it is used."""

    digest: str = msgspec.field(name="containerimage.digest")
    names: str = msgspec.field(name="image.name")
    config: str = msgspec.field(name="containerimage.config.digest", default="")


def images(fleet: Fleet, repository: str = "envbuild") -> tuple[Image, ...]:
    """The images of a fleet.

    Args:
        fleet: what was planned.
        repository: what the images' names begin with, ``registry.example/team``.

    Raises:
        NoPlanError: it is a refusal, in whole or for some nodes, which are named; or a plan of it
            is for the machine itself.
        InputError: it names a plan that it does not hold, or the repository is none.
    """
    if fleet.outcome == "refuse" or any(e.plan.outcome == "refuse" for e in fleet.entries):
        raise _refusal(fleet)
    known = range(1, len(fleet.entries) + 1)
    if any(node.entry not in {None, *known} for node in fleet.nodes):
        what = "a node of this fleet takes a plan that the fleet does not hold"
        raise InputError(what, fix=f"plan again: {_AGAIN}")
    if {"@", ":"} & set(repository.rpartition("/")[2]):
        what = f"--repository {repository!r} has a tag or a digest, and images' names go behind it"
        raise InputError(what, fix="for example --repository registry.example/team")
    for entry in fleet.entries:
        supported(entry.plan)
    names = _names([entry.plan for entry in fleet.entries])
    taken: dict[int | None, list[FleetNode]] = {}
    for node in fleet.nodes:
        taken.setdefault(node.entry, []).append(node)
    return tuple(
        Image(
            _ref(repository, name), entry.plan, Group(name, entry.plan.cc, tuple(taken.get(i, ())))
        )
        for i, name, entry in zip(known, names, fleet.entries, strict=True)
    )


def left_out(fleet: Fleet) -> tuple[FleetNode, ...]:
    """The nodes that there is no image for; each says why."""
    return tuple(node for node in fleet.nodes if node.entry is None)


def pinned(made: Sequence[Image], baked: bytes, name: str) -> tuple[Image, ...]:
    """The images by digest.

    Args:
        made: from `images`.
        baked: what ``docker buildx bake --push --metadata-file`` wrote.
        name: of its file.

    Raises:
        InputError: it is not that file, lacks an image, or one was not pushed under its name.
    """
    return tuple(image._replace(ref=f"{image.ref}@{_digest(image, baked, name)}") for image in made)


def _digest(image: Image, baked: bytes, name: str) -> str:
    try:
        told = msgspec.convert(msgspec.json.decode(baked, type=dict)[image.name], _Baked)
    except (msgspec.MsgspecError, UnicodeDecodeError, KeyError, RecursionError) as e:
        what = f"{name} does not say what {image.name} was pushed as"
        raise InputError(what, why=str(e)[:200], fix=_PUSH) from e
    # An image that was only loaded into a daemon's store has its config's digest.
    if told.digest == told.config or not _DIGEST.fullmatch(told.digest):
        what = f"{name} holds the digest of no manifest for {image.name}: it was not pushed"
        raise InputError(what, fix=_PUSH)
    pushed = [word.strip() for word in told.names.split(",")]
    if oci.parse(image.ref) not in [oci.parse(one) for one in pushed if one]:
        what = f"{name} says that {image.name} was pushed as {told.names[:200]}, not as {image.ref}"
        raise InputError(what, fix="give the --repository that it was baked with")
    return told.digest


def _refusal(fleet: Fleet) -> NoPlanError:
    """Which nodes have no plan, and the first reason of each."""
    without = [
        f"{', '.join(entry.nodes[:5]) or ', '.join(entry.plan.cc)}: {finding.says}"
        for entry in fleet.entries
        for finding in [f for f in entry.plan.findings if f.severity == "error"][:1]
    ]
    says = [finding.says for finding in fleet.findings if finding.severity == "error"]
    what = "this fleet has no plan for " + (
        "some of its nodes" if without else "its nodes together"
    )
    fix = "take them out of its file, or change what is asked for: envbuild plan --fleet says how"
    return NoPlanError(what, why="; ".join((*without, *says)), fix=fix)


def _names(plans: Sequence[Plan]) -> list[str]:
    """A name for each, no two alike: by toolkit and cards, then by what else differs."""
    found: list[str] = []
    for i, plan in enumerate(plans, 1):
        name = image_name(plan).rpartition("/")[2]
        name = name if len(name) <= _SHORT else f"{name.partition('-')[0]}-{i}"
        if name in found:
            name = f"{name}-{quote.version(plan.arch).replace('_', '-')}"
        found.append(name if name not in found else f"{name}-{i}")
    return found


def _ref(repository: str, name: str) -> str:
    ref = quote.ref(f"{repository.rstrip('/')}/{name}")
    oci.parse(ref)
    return ref


def _is_host(name: str) -> bool:
    return len(name) <= _LONGEST and _HOST.fullmatch(name) is not None
