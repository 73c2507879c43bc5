"""From a scene to findings: every rule and every known text, what follows from another left out."""

import importlib
from collections.abc import Iterator
from typing import get_args

from envbuild.advice.rows import advice_of
from envbuild.advice.rules import Advice, Rule, advice
from envbuild.advice.scene import Scene
from envbuild.matrix.load import load_errors
from envbuild.matrix.model.errors import Family
from envbuild.values.codec import replace
from envbuild.values.finding import Finding, Severity, Step

FAMILIES: tuple[str, ...] = get_args(Family)
"""Modules of `advice.rules`, in the order in which things are mended."""

_SEVERITIES: tuple[Severity, ...] = ("error", "warn", "watch", "info")


def rules(family: str) -> tuple[Rule, ...]:
    """The rules of a family."""
    made: tuple[Rule, ...] = importlib.import_module(f"envbuild.advice.rules.{family}").RULES
    return made


def diagnose(scene: Scene) -> tuple[Finding, ...]:
    """What is wrong, what to do first first; what one thing explains is told with it."""
    given = [one for family in FAMILIES for one in _of_family(family, scene)]
    given += _not_known(scene)
    told = _without_twins(given)
    hidden = {id: one for one in told for id in one.explains if id != one.finding.id}
    left = [one for one in told if not _is_hidden(one, hidden)]
    findings = [_chained(one, told) for one in left]
    return tuple(sorted(findings, key=lambda f: _SEVERITIES.index(f.severity)))


def _of_family(family: str, scene: Scene) -> Iterator[Advice]:
    """Rules first: they know more than a text alone."""
    for rule in rules(family):
        yield from rule(scene)
    for row in load_errors().errors:
        seen = scene.saw(row.id) if row.family == family else None
        if seen is not None and (told := advice_of(row, scene, seen)) is not None:
            yield told


def _not_known(scene: Scene) -> Iterator[Advice]:
    """A log that holds nothing known: no guess is better than a wrong one."""
    # Rows without causes mark what a log is about: they explain nothing.
    speaking = {row.id for row in load_errors().errors if row.causes}
    known = {seen.log for seen in scene.seen if seen.id in speaking}
    silent = [log for log in scene.logs if log not in known]
    if not silent:
        return
    steps = (
        Step(
            why="the first error of a log is the cause, later ones follow from it",
            text="give the whole output, from its first line, and the kernel's own (sudo dmesg)",
            check="doctor names a line of it",
        ),
        Step(
            why="everything that a helper needs, without names, uuids and secrets; look it through",
            argv=("envbuild", "doctor", "--bundle", "bundle.json"),
            check="the file holds nothing that you would not show",
        ),
    )
    yield advice(
        "not-known",
        "warn",
        f"I do not know what {' and '.join(silent)} is about: none of its lines is known here",
        why="The machine was looked at all the same; what was found stands beside this.",
        steps=steps,
        source="errors.yaml",
    )


def _without_twins(given: list[Advice]) -> list[Advice]:
    """The first of each finding: a rule of that name speaks for the text of that name."""
    first: dict[str, Advice] = {}
    for one in given:
        first.setdefault(one.finding.id, one)
    return list(first.values())


def _is_hidden(one: Advice, hidden: dict[str, Advice]) -> bool:
    """Something else explains it, and that is not itself explained by it."""
    by = hidden.get(one.finding.id)
    return by is not None and by.finding.id not in one.explains


def _chained(one: Advice, told: list[Advice]) -> Finding:
    """The finding, with what follows from it; a line that it quotes itself is not told again."""
    follows = [
        f"\u201c{other.line}\u201d" if other.line else other.finding.says
        for other in told
        if other.finding.id in one.explains
        and one.finding.id not in other.explains
        and other.finding.severity in {"error", "warn"}
        and not (other.line and other.line in one.finding.why)
    ]
    if not follows:
        return one.finding
    why = f"{one.finding.why} From it follows: {'; '.join(follows)}"
    return replace(one.finding, why=why.strip())
