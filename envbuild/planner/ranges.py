"""Versions and ranges of versions, compared by the parts that are written.

``13`` means 13.*, ``<=12.9`` admits 12.9.1, ``==2.8`` admits 2.8.0: what people mean who name a
minor release. Only release numbers exist here; the resolver of the package index knows the rest.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from envbuild.errors import InputError

_VERSION = re.compile(r"v?(\d{1,6}(?:\.\d{1,6}){0,4})(?:\+[A-Za-z0-9.]{1,40})?", re.ASCII)
_CLAUSE = re.compile(r"(===|==|!=|<=|>=|~=|<|>|)\s*(\S+)")


@lru_cache(maxsize=4096)
def numbers(version: str) -> tuple[int, ...]:
    """``12.9.1`` as (12, 9, 1); a local part (``+cu126``) is left out.

    Raises:
        InputError: not a release number.
    """
    match = _VERSION.fullmatch(version)
    if match is None:
        what = f"{version[:60]!r} is not a version"
        raise InputError(what, fix="give release numbers, for example 12.6 or 2.8.0")
    return tuple(map(int, match[1].split(".")))


def minor(version: str) -> str:
    """``12.9.1`` as ``12.9``."""
    return ".".join(version.split(".")[:2])


class Range(NamedTuple):
    """A range as typed, and its clauses: operator and the parts it compares."""

    text: str
    clauses: tuple[tuple[str, tuple[int, ...]], ...]

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
    """Read ``12.6``, ``13.*``, ``>=12.4,<13``, ``~=2.8``; a bare version is a prefix.

    Raises:
        InputError: not a range; ``flag`` says where it was given.
    """
    clauses: list[tuple[str, tuple[int, ...]]] = []
    for part in text.split(","):
        match = _CLAUSE.fullmatch(part.strip())
        if match is None or len(text) > 200:
            what = f"{flag} {text[:60]!r} is not a range of versions"
            raise InputError(what, fix="for example 12.6, '>=12.4,<13' or 13")
        op, version = match.groups()
        star = version.endswith(".*")
        try:
            limit = numbers(version.removesuffix(".*"))
        except InputError as e:
            what = f"{flag} {text[:60]!r}: {e.what}"
            raise InputError(what, fix="for example 12.6, '>=12.4,<13' or 13") from e
        if op == "~=":
            # PEP 440: at least this, and the same but for the last part.
            clauses += [(">=", limit), ("==", limit[:-1] or limit)]
        elif star and op not in {"", "==", "!="}:
            what = f"{flag} {text[:60]!r}: {op} takes no .*"
            raise InputError(what, fix=f"write {op}{version.removesuffix('.*')}")
        else:
            clauses.append(("==" if op in {"", "==="} else op, limit))
    return Range(text.strip(), tuple(clauses))
