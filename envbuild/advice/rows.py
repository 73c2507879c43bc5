"""What a row of `errors.yaml` says of a text that a log holds, on this machine."""

import re
import shlex

from envbuild.advice.rules import Advice
from envbuild.advice.scene import Scene
from envbuild.advice.when import holds
from envbuild.errors import InputError
from envbuild.matrix.load import load_errors
from envbuild.matrix.model.errors import Cause, ErrorText, Fix
from envbuild.values.diagnosis import Seen
from envbuild.values.finding import Finding, Step

# What a log says is put into a command only where it cannot be an option or reach a shell.
_SAFE = re.compile(r"[A-Za-z0-9_./:@+=,][A-Za-z0-9_./:@+=,-]*")
_PLACE = re.compile(r"\{(\w+)\}")


def advice_of(row: ErrorText, scene: Scene, seen: Seen) -> Advice | None:
    """The first cause of the row whose conditions hold, and whose places can be filled."""
    words = dict(_facts(scene)) | dict(seen.words)
    for cause in row.causes:
        says = _filled(cause.says, words)
        if says is not None and all(holds(name, scene) for name in cause.when):
            found = _finding(row, cause, says, words, seen)
            return Advice(finding=found, explains=(row.id, *row.explains), line=seen.text)
    return None


def _finding(row: ErrorText, cause: Cause, says: str, words: dict[str, str], seen: Seen) -> Finding:
    steps = (_step(fix, words) for fix in cause.steps)
    return Finding(
        id=cause.id or row.id,
        severity=cause.severity or row.severity,
        says=says,
        why=" ".join(part for part in (_filled(cause.why, words), where(seen)) if part),
        steps=tuple(step for step in steps if step is not None),
        source=cite(row),
    )


def cite(row: ErrorText) -> str:
    """The source line of a finding about a text."""
    return f"errors/{row.id} {row.status}"


def cited(id: str) -> str:
    """The same, by the id of the text."""
    return cite(next(row for row in load_errors().errors if row.id == id))


def where(seen: Seen) -> str:
    """Where a text stands: its log, its line, and how often."""
    often = f" (and {seen.count - 1} more)" if seen.count > 1 else ""
    return f"Line {seen.line} of {seen.log}{often}: {seen.text}"


def _facts(scene: Scene) -> dict[str, str]:
    """Facts of the machine that rows may name."""
    host = scene.host
    facts = {"os": host.os.id, "driver": host.driver.version if host.driver else None}
    facts["cc"] = ",".join(dict.fromkeys(row.cc for _, row in scene.chips))
    return {name: text for name, text in facts.items() if text}


def _step(fix: Fix, words: dict[str, str]) -> Step | None:
    """The step with its places filled; None where a place has no safe value."""
    argv = []
    for word in _split(fix.run):
        filled = _filled(word, {n: t for n, t in words.items() if _SAFE.fullmatch(t)})
        if filled is None:
            return None
        argv.append(filled)
    text = _filled(fix.do, words)
    why, check = _filled(fix.why, words), _filled(fix.check, words)
    if text is None or why is None or check is None:
        return None
    return Step(why=why, argv=tuple(argv), text=text, check=check)


def _split(run: str) -> list[str]:
    """The words of a command.

    Raises:
        InputError: a row of an overlay has a quote that does not end.
    """
    try:
        return shlex.split(run)
    except ValueError as e:
        what = f"a row of errors.yaml has a command that no shell reads: {run}: {e}"
        raise InputError(what, fix="close its quotes") from e


def _filled(text: str, words: dict[str, str]) -> str | None:
    """The text with its places filled; None where a value is missing."""
    if any(name not in words for name in _PLACE.findall(text)):
        return None
    return _PLACE.sub(lambda place: words[place[1]], text)
