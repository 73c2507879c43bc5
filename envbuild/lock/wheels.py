"""The wheels: for each project the one file that fits this platform and Python, by its hash."""

import re
from collections.abc import Iterable

from packaging.requirements import Requirement
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from envbuild.errors import InputError, MachineError, NoPlanError
from envbuild.io import pip
from envbuild.io.net import Net, without_login
from envbuild.lock import index
from envbuild.lock.resolvers import Pin, Target, Wanted, resolve
from envbuild.planner.target import COMPANIONS
from envbuild.render import quote
from envbuild.values.lock import Wheel
from envbuild.values.plan import Plan

#: Name of the default index in a lock.
DEFAULT = "pypi"
_FRAMEWORK = "torch"
# The project that pip, then uv, say they find nothing of.
_LACKING = re.compile(r"(?:satisfies the requirement|Because) ([A-Za-z0-9._-]+)")
_OLDEST_GLIBC = "2.28"  # taken where a plan does not say: the oldest that current wheels ask for
# Other parts, cccl for one, count their versions on their own.
_RELEASE = frozenset({"nvidia-cuda-nvcc", "nvidia-cuda-crt", "nvidia-nvvm", "nvidia-cuda-runtime"})


def lock_wheels(plan: Plan, net: Net, kept: Iterable[Wheel] = ()) -> tuple[Wheel, ...]:
    """The closure of ``plan.packages``, sorted by name.

    Args:
        plan: its packages, Python and C library.
        net: index, CA.
        kept: wheels of an earlier lock whose versions stay.

    Raises:
        InputError: the plan names no Python, or asks for parts of several toolkit releases.
        NoPlanError: no set of wheels meets the requirements.
        MachineError: no resolver, no index that answers, or one without what it should have.
    """
    if plan.python is None:
        raise InputError(
            "the plan has packages but names no Python", fix="use a plan that envbuild wrote"
        )
    glibc = int(quote.minor(plan.image.glibc or _OLDEST_GLIBC).split(".")[1])
    target = Target(quote.minor(plan.python), plan.arch, glibc)
    extra = None
    if plan.torch and plan.torch.index_url:
        extra = (plan.torch.index, quote.url(plan.torch.index_url))
    pinned = tuple(quote.requirement(f"{w.name}=={quote.version(w.version)}") for w in kept)
    wanted = Wanted(tuple(quote.requirement(p) for p in plan.packages), extra, pinned)
    ranks = _ranks(target)
    try:
        pins = resolve(wanted, target, net)
    except NoPlanError as e:
        _ask(wanted, net, e.why or "")
        raise
    wheels = [_wheel(pin, extra, ranks, net) for pin in sorted(pins)]
    _one_release(plan, wheels)
    if extra is not None:
        _one_index(extra[0], wheels)
    return tuple(wheels)


def _ask(wanted: Wanted, net: Net, said: str) -> None:
    """Resolvers take any page, and none, for an index that lacks everything; ours says which.

    Raises:
        MachineError: no answer, a login page, or an index of the framework without the framework.
    """
    first = canonicalize_name(Requirement(wanted.requirements[0]).name)
    url = net.index_url or _default(net)
    for project in (first, *map(canonicalize_name, _LACKING.findall(said))) if url else ():
        index.files(url, project, net, beside=first)
    if wanted.extra and not index.files(wanted.extra[1], _FRAMEWORK, net):
        name, url = wanted.extra
        what = f"the index {name} at {without_login(url)} lists no {_FRAMEWORK}"
        raise MachineError(what, fix="check that the address is right, and that a mirror has it")


def _default(net: Net) -> str:
    try:
        return pip.default_index(net)
    except MachineError:  # uv may be here without pip: its word then stands
        return ""


def _ranks(target: Target) -> dict[Tag, int]:
    """Tags that the target takes, the better the lower."""
    major, minor = (int(part) for part in target.python.split("."))
    name = f"cp{major}{minor}"
    tags = [
        *cpython_tags((major, minor), abis=[name], platforms=target.platforms),
        *compatible_tags((major, minor), interpreter=name, platforms=target.platforms),
    ]
    return {tag: rank for rank, tag in enumerate(tags)}


def _wheel(pin: Pin, extra: tuple[str, str] | None, ranks: dict[Tag, int], net: Net) -> Wheel:
    """The best file among those the resolver allows, and the name of the index that has it."""
    if pin.file is not None:
        found: tuple[index.IndexFile, ...] = (index.IndexFile(pin.file, *pin.sha256),)
        there = index.files(extra[1], pin.name, net, beside=_FRAMEWORK) if extra else ()
        framework = any(entry.sha256 in pin.sha256 for entry in there)
    else:
        said = pin.index_url or ""
        framework = extra is not None and said.rstrip("/") == extra[1].rstrip("/")
        # A resolver hides the password of an address; Net's own has it.
        url = extra[1] if extra and framework else net.index_url or said
        found = index.files(url, pin.name, net)
    fitting = sorted(
        (rank, entry)
        for entry in found
        if entry.sha256 in pin.sha256 and (rank := _rank(entry.file, ranks)) is not None
    )
    if not fitting:
        what = f"no wheel of {pin.name} {pin.version} fits this Python and platform"
        raise MachineError(what, fix="check --index-url")
    file, sha256, _ = fitting[0][1]
    name = extra[0] if extra and framework else DEFAULT
    return Wheel(name=pin.name, version=pin.version, file=file, sha256=sha256, index=name)


def _rank(file: str, ranks: dict[Tag, int]) -> int | None:
    """How well a file fits, 0 = best; None for what does not fit or is no wheel."""
    try:
        tags = parse_wheel_filename(file)[3]
    except InvalidWheelFilename:
        return None
    return min((ranks[tag] for tag in tags if tag in ranks), default=None)


def _one_release(plan: Plan, wheels: list[Wheel]) -> None:
    """Compiler parts of two releases in one prefix do not work together: refuse them."""
    minor = ".".join((plan.cuda or "").split(".")[:2])
    strangers = [
        f"{wheel.name} {wheel.version}"
        for wheel in wheels
        if wheel.name in _RELEASE and not wheel.version.startswith(f"{minor}.")
    ]
    if plan.layout.prefix and strangers:
        what = f"the plan is for CUDA {minor}, and its wheels bring {', '.join(strangers)}"
        raise InputError(what, fix="name every part in cuda-toolkit[...]==X.Y.Z")


def _one_index(name: str, wheels: list[Wheel]) -> None:
    """Resolvers may take the framework, or a companion, of the index that is not the framework's.

    Raises:
        MachineError: what they took is made for another CUDA, or for none.
    """
    for wheel in wheels:
        if wheel.name == _FRAMEWORK and wheel.index != name:
            what = f"pip took {_FRAMEWORK} {wheel.version} of the default index, not of {name}"
            why = "both have this version, and pip knows no order of indexes"
            raise MachineError(what, why=why, fix="pip install uv: envbuild resolves with it then")
        if wheel.name in COMPANIONS and wheel.index != name:
            what = f"the index {name} has no {wheel.name} for this {_FRAMEWORK}"
            why = f"{wheel.name} {wheel.version} of the other index is made for another CUDA"
            fix = f"use a mirror that has it, or leave out --with {wheel.name}"
            raise MachineError(what, why=why, fix=fix)
