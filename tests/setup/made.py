"""Guides as tests ask for them."""

from functools import lru_cache
from typing import get_args

from envbuild.advice.guide import guide
from envbuild.advice.guide.case import about, case, kind_of
from envbuild.values.guide import Guide, Kind, Section
from envbuild.values.host import Host
from envbuild.values.request import Request
from tests.setup.machines import machines

KINDS: tuple[Kind, ...] = get_args(Kind)


def asked(kind: Kind, host: Host | None = None, way: str = "", **request: object) -> Guide:
    made = case(kind, Request(**request), host, way)  # type: ignore[arg-type]
    return guide(made, about(made), ("setup", kind))


@lru_cache(maxsize=256)
def of_machine(name: str) -> Guide:
    host = machines()[name]
    return asked(kind_of(host), host)


def section(made: Guide, id: str) -> Section:
    return next(one for one in made.sections if one.id == id)


def ids(made: Guide) -> list[str]:
    return [one.id for one in made.sections]


def told(made: Guide) -> str:
    """All that people are told to do or use: commands, texts, checks."""
    lines = []
    for one in made.sections:
        lines += [one.test, *(f.text for f in one.files)]
        lines += [part for step in one.steps for part in (*step.argv, step.text)]
    return "\n".join(lines)
