"""Versions and ranges of versions, compared by the parts that are written.

``13`` means 13.*, ``<=12.9`` admits 12.9.1, ``==2.8`` admits 2.8.0: what people mean who name a
minor release. Only release numbers exist here; the resolver of the package index knows the rest.
"""

import re
from functools import lru_cache

import msgspec

from envbuild.errors import InputError

_DIGITS = frozenset("0123456789")
_OPERATORS = ("===", "==", "!=", "<=", ">=", "~=", "<", ">")
_FIX = "for example 12.6, '>=12.4,<13' or 13"


@lru_cache(maxsize=4096)
def numbers(version: str) -> tuple[int, ...]:
    """``12.9.1`` as (12, 9, 1); a local part (``+cu126``) is left out.

    Raises:
        InputError: not a release number.
    """
    parts = version.removeprefix("v").partition("+")[0].split(".")
    if len(version) > 60 or len(parts) > 5 or not all(p and len(p) < 7 for p in parts):
        raise _not_a_version(version)
    if not all(_DIGITS.issuperset(part) for part in parts):
        raise _not_a_version(version)
    return tuple(map(int, parts))


def _not_a_version(text: str) -> InputError:
    what = f"{text[:60]!r} is not a version"
    return InputError(what, fix="give release numbers, for example 12.6 or 2.8.0")


def minor(version: str) -> str:
    """``12.9.1`` as ``12.9``."""
    return ".".join(version.split(".")[:2])


class Range(msgspec.Struct, frozen=True):
    """A range as typed, and its clauses: operator and the parts it compares.

    Attributes:
        local: the build that an exact version names (``cu128`` of ``==2.8.0+cu128``), else empty.
    """

    text: str
    clauses: tuple[tuple[str, tuple[int, ...]], ...]
    local: str = ""

    def __contains__(self, version: object) -> bool:
        return all(_holds(op, limit, numbers(str(version))) for op, limit in self.clauses)


def _holds(op: str, limit: tuple[int, ...], version: tuple[int, ...]) -> bool:
    width = len(limit)
    at = (version + (0,) * width)[:width]
    if op == "==":
        return at == limit
    if op == "!=":
        return at != limit
    if op == "<":
        return at < limit
    if op == "<=":
        return at <= limit
    if op == ">":
        return at > limit
    return at >= limit


@lru_cache(maxsize=1024)
def parse(text: str, flag: str) -> Range:
    """Read ``12.6``, ``13.*``, ``13.x``, ``>=12.4,<13``, ``~=2.8``; a bare version is a prefix.

    Raises:
        InputError: not a range; ``flag`` says where it was given.
    """
    if len(text) > 200:
        what = f"{flag} is a range of {len(text)} characters"
        raise InputError(what, fix=_FIX)
    clauses: list[tuple[str, tuple[int, ...]]] = []
    for part in text.split(","):
        clauses += _clause(part.strip(), text, flag)
    return Range(text.strip(), tuple(clauses), _local(text))


def _local(text: str) -> str:
    """What stands behind the ``+`` of one exact version."""
    exact = re.fullmatch(r"\s*(?:===?)?\s*[0-9.]+\+([a-z0-9.]+)\s*", text, re.ASCII)
    return exact[1] if exact else ""


def _clause(part: str, text: str, flag: str) -> list[tuple[str, tuple[int, ...]]]:
    op = next((op for op in _OPERATORS if part.startswith(op)), "")
    version = part[len(op) :].strip()
    stem = version.removesuffix(".*").removesuffix(".x")
    try:
        limit = numbers(stem)
    except InputError as e:
        what = f"{flag} {text[:60]!r} is not a range of versions"
        raise InputError(what, why=e.what, fix=_cure(version)) from e
    if stem != version and op not in {"", "==", "!="}:
        what = f"{flag} {text[:60]!r}: {op} takes no .*"
        raise InputError(what, fix=f"write {op}{stem}")
    if op == "~=":
        # PEP 440: at least this, and the same but for the last part.
        return [(">=", limit), ("==", limit[:-1] or limit)]
    return [("==" if op in {"", "==="} else op, limit)]


def _cure(version: str) -> str:
    if version.lower() in {"latest", "newest", "any"}:
        return "leave the flag out: the newest that fits is taken"
    return f"put a comma between two clauses: {_FIX}" if " " in version else _FIX
