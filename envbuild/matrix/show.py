"""Plain questions to the matrices: what is known of a card, a toolkit, a driver, a build.

An answer is a list of lines, each with the row that says it, its status and its sources.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from typing import Literal

from envbuild.errors import InputError
from envbuild.matrix.load import OVERLAY, load, load_reference
from envbuild.matrix.model import Row, Source, Status
from envbuild.values.codec import Value


class Line(Value):
    """One fact.

    Attributes:
        about: the word of the first column: toolkits, driver, torch ...
        says: the fact, for people.
        row: the row that says it, ``toolkits/12.9``; where several do, the newest.
        note: what qualifies it.
    """

    about: str
    says: str
    row: str
    status: Status
    source: tuple[str, ...]
    note: str = ""


class Section(Value):
    """The lines that answer one question, ``--cc 6.1``."""

    question: str
    lines: tuple[Line, ...]


class Answer(Value):
    """All sections, with the sources that their lines name."""

    schema: Literal["envbuild/matrix-answer/1"] = "envbuild/matrix-answer/1"
    date: str
    digest: str
    overlay: str | None = None
    sections: tuple[Section, ...]
    sources: tuple[Source, ...]


class Question(Value):
    """What is asked; empty = not asked. ``cc`` beside another question narrows its answer."""

    cc: str = ""
    gpu: str = ""
    cuda: str = ""
    torch: str = ""
    driver: str = ""
    package: str = ""
    os: str = ""
    l4t: str = ""
    tool: str = ""
    engine: str = ""
    gcc: str = ""
    python: str = ""
    wsl: bool = False


def ask(question: Question) -> Answer:
    """The answer.

    Raises:
        InputError: nothing is asked, or something that no row knows; names the nearest.
    """
    from envbuild.matrix import answers

    matrices = load()
    sections = tuple(
        Section(question=title, lines=tuple(lines)) for title, lines in answers.sections(question)
    )
    if not sections:
        what = "matrix show: nothing is asked"
        fix = "for example --cc 6.1, --gpu 'GTX 1080 Ti', --cuda 12.9, --torch 2.14, --driver 580"
        raise InputError(what, fix=fix)
    cited = {one for section in sections for line in section.lines for one in line.source}
    return Answer(
        date=matrices.date,
        digest=matrices.digest,
        overlay=os.environ.get(OVERLAY) or None,
        sections=sections,
        sources=tuple(s for s in load_reference().sources if s.id in cited),
    )


def line(about: str, says: str, table: str, key: str, row: Row, *, note: bool = True) -> Line:
    """A line that ``table/key`` says; ``note`` is off where the row stands for several."""
    return Line(
        about=about,
        says=says,
        row=f"{table}/{key}",
        status=row.status,
        source=row.source,
        note=row.note if note else "",
    )


def unknown(flag: str, text: str, known: Iterable[str]) -> InputError:
    """No row is about this; the nearest words, else all."""
    words = tuple(dict.fromkeys(known))
    near = get_close_matches(text, words, 4, 0.4)
    what = f"{flag} {text[:60]!r} is in no row"
    return InputError(what, fix=f"nearest: {', '.join(near)}" if near else f"{', '.join(words)}")


def span(values: Iterable[str], order: list[str]) -> str:
    """``10.2, 11.4, 11.7-12.9``: values as runs of neighbours in ``order``."""
    wanted = set(values)
    runs: list[list[str]] = []
    last = None
    for at, value in enumerate(order):
        if value in wanted:
            if last == at - 1 and runs:
                runs[-1].append(value)
            else:
                runs.append([value])
            last = at
    return ", ".join(run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def text(answer: Answer, paint: Callable[[str, str], str]) -> Iterator[str]:
    """The answer as lines for people.

    Args:
        answer: what `ask` gave.
        paint: gives a text a colour by name.
    """
    for number, section in enumerate(answer.sections):
        if number:
            yield ""
        yield paint(section.question, "bold")
        about = ""
        wide = max((len(one.about) for one in section.lines), default=0) + 2
        for one in section.lines:
            head = one.about if one.about != about else ""
            about = one.about
            note = f" ({one.note})" if one.note else ""
            from_ = f"{one.row} {one.status} [{', '.join(one.source)}]"
            yield f"  {head:<{wide}}{one.says}{note}  {paint(from_, 'dim')}"
    yield ""
    yield paint("sources", "bold")
    for source in answer.sources:
        where = f"  {source.url}" if source.url else ""
        yield f"  {source.id:<18} {source.says}{where}"
    overlay = f" with {answer.overlay}" if answer.overlay else ""
    yield f"matrices of {answer.date}{overlay} · for programs: --json"
