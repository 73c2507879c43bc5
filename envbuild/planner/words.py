"""Words that people type, as what the matrices call them: packages, features, systems, drivers."""

import re

from envbuild.errors import InputError
from envbuild.planner import drivers
from envbuild.planner.cards import unknown
from envbuild.planner.ranges import numbers, parse
from envbuild.planner.table import Table
from envbuild.planner.target import COMPANIONS, Wanted
from envbuild.values.request import Wish

_PACKAGE = re.compile(r"([a-z0-9](?:[a-z0-9-]{0,60}[a-z0-9])?)(\[[a-z0-9,-]{1,60}\])?", re.ASCII)
_WINDOWS = re.compile(r"\d\d\.\d\.1(\d)\.(\d{2})(\d{2})", re.ASCII)
_OLDEST = 300  # numbers of driver branches begin above, CUDA versions end far below
_NEWEST = 999  # and have three digits
_HOSTS = (
    "alma", "arch", "centos", "fedora", "gentoo", "linuxmint", "manjaro", "mint", "nixos",
    "opensuse", "pop", "sles", "suse", "void",
)  # fmt: skip
"""How the names of systems begin that people have, in releases that no row is about."""
_MUSL = ("alpine", "chimera", "postmarketos")  # systems without glibc


def wanted(wishes: tuple[Wish, ...], table: Table) -> tuple[Wanted | None, tuple[Wanted, ...]]:
    """Torch, which its companions bring along, and the other packages, each once.

    Raises:
        InputError: a name that is none or nearly one, a range that is none, torch twice.
    """
    torch = None
    others: list[Wanted] = []
    for wish in wishes:
        name = _package(wish.name, table)
        if name == "python":
            raise _python(wish, table)
        flag = "--torch" if name == "torch" else f"--with {name}"
        one = Wanted(name=name, range=parse(wish.range, flag) if wish.range else None)
        if name != "torch":
            others.append(one)
        elif torch is None or torch.range == one.range:
            torch = one
        else:
            what = f"torch is asked for twice: {torch} and {one}"
            raise InputError(what, fix="give one version of torch")
    if torch is None and any(_on_torch(one.name, table) for one in others):
        # pip would bring torch along, from an index that nobody chose.
        torch = Wanted(name="torch")
    return torch, tuple(dict.fromkeys(others))


def _on_torch(name: str, table: Table) -> bool:
    """Built on torch: a companion of it, or a package whose rows say so."""
    return name in COMPANIONS or any(row.torch for row in table.packages.get(name, ()))


def _python(wish: Wish, table: Table) -> InputError:
    """Python is no package: it comes with the base system."""
    every = sorted(
        (o for o in table.oses.values() if o.python), key=lambda o: numbers(o.python or "")
    )
    range = parse(wish.range, "--with python") if wish.range else None
    fit = [o for o in every if range is None or o.python in range]
    has = ", ".join(f"{o.id} ({o.python})" for o in fit or every)
    what = f"--with python{wish.range}: Python is that of the base system, not a package"
    return InputError(
        what, why=f"{'it is in' if fit else 'no base has it'}: {has}", fix="give --base-os"
    )


def _package(text: str, table: Table) -> str:
    """The name of a package's row; a package without one keeps what it is called."""
    match = _PACKAGE.fullmatch(re.sub(r"[-_.]+", "-", text))
    if match is None:
        what = f"--with {text[:60]!r} is not a package name"
        raise InputError(what, fix="for example --with numba or --with cupy==14.2.0")
    whole, name, extras = match[0], match[1], match[2]
    if whole in table.packages or (extras and name not in table.packages):
        return whole
    if name in table.packages or name == "torch":
        return name
    from difflib import get_close_matches

    known = (*table.packages, "torch")
    if get_close_matches(name, known, 1, 0.75):
        unknown("--with", name, known)
    return name


def features(words: tuple[str, ...], table: Table) -> tuple[str, ...]:
    """The names of features, each once.

    Raises:
        InputError: one is not known.
    """
    found = []
    for text in words:
        name = text.strip().lower().replace("_", "-").replace(" ", "-")
        row = table.features.get(name)
        if row is None and name != "extension":
            unknown("--feature", text, ("extension", *table.features))
        found.append(row.name if row is not None else name)
    return tuple(dict.fromkeys(found))


def system(text: str, table: Table) -> str:
    """``Ubuntu 24.04``, ``ubuntu:24.04`` and ``noble`` as ``ubuntu24.04``.

    Raises:
        InputError: no such system.
    """
    ids = {o.id: o.id for o in table.oses.values()}
    ids |= {alias: o.id for o in table.oses.values() for alias in o.aliases}
    ids |= {tag.os: tag.os for tag in table.matrices.images}
    name = re.sub(r"[\s:_-]+", "", text.lower())
    if name.startswith(_MUSL):
        what = f"--base-os {text[:60]!r} has the C library musl, and CUDA is built for glibc"
        raise InputError(what, fix="take a base with glibc, for example debian13 or ubuntu24.04")
    if name not in ids:
        if name.startswith(_HOSTS):
            what = f"--base-os {text[:60]!r} is not in the matrices"
            raise InputError(
                what,
                why="no vendor image is made of it, and its compiler and C library are not known",
                fix="an image of ubuntu24.04 or debian13 runs on such a machine, too; for the "
                "machine itself give --where host with its --glibc and --gcc instead of --base-os",
            )
        dotless = {id.replace(".", "") for id in ids.values() if "." in id}
        unknown("--base-os", text, tuple(word for word in ids if word not in dotless))
    return ids[name]


def driver(text: str, table: Table, *, windows: bool = False) -> str:
    """``580``, ``R580`` and ``580.95.05`` as a version; a branch is its newest release on Linux.

    Raises:
        InputError: no driver's version; says so of the CUDA version that stands beside it.
    """
    shown = f"--driver {text[:60]!r}"
    if shown_as := _WINDOWS.fullmatch(text.strip()):
        what = f"{shown} is the count of Windows' device manager"
        raise InputError(
            what, fix=f"write it as nvidia-smi does: {''.join(shown_as.groups()[:2])}.{shown_as[3]}"
        )
    try:
        at = numbers(re.sub(r"^[rR](?=\d)", "", text.strip()))
    except InputError as e:
        what = f"{shown} is not a driver version"
        raise InputError(
            what, fix="write it as nvidia-smi shows it, 580.95.05, or the branch, 580"
        ) from e
    if at[0] < _OLDEST:
        what = f"{shown} is no driver version: nvidia-smi's CUDA version, perhaps"
        fix = "give the number behind `Driver Version`, for example 580.95.05, or its branch, 580"
        raise InputError(what, fix=fix)
    if at[0] > _NEWEST:
        what = f"{shown} is no driver version: a branch has three digits"
        raise InputError(what, fix="write it as nvidia-smi shows it, 580.95.05, or the branch, 580")
    version = re.sub(r"^[rRvV]", "", text.strip())
    if len(at) > 1 or windows:
        return version
    branch = drivers.branch(table, at[0])
    return branch.newest if branch is not None and branch.newest else version


def date(text: str) -> str:
    """A date as YYYY-MM-DD.

    Raises:
        InputError: it is none.
    """
    from datetime import date as calendar

    try:
        # Later Pythons read more spellings than the one that all of them do.
        if len(text) != len("YYYY-MM-DD"):
            raise ValueError(text)
        return calendar.fromisoformat(text).isoformat()
    except ValueError as e:
        what = f"--as-of {text[:40]!r} is not a date"
        raise InputError(what, fix="write YYYY-MM-DD") from e


def version(text: str, flag: str) -> str:
    """A flag's version, checked.

    Raises:
        InputError: it is none.
    """
    try:
        numbers(text)
    except InputError as e:
        what = f"{flag} {text[:60]!r} is not a version"
        raise InputError(what, fix=e.fix) from e
    return text
