"""A guide as people and shells read it: terminal, Markdown, bash, PowerShell."""

import shlex
from collections.abc import Callable
from typing import NamedTuple

from envbuild.advice.guide import spell
from envbuild.advice.guide.base import ps
from envbuild.values.codec import replace
from envbuild.values.finding import Step
from envbuild.values.guide import Guide, Section

Paint = Callable[[str, str], str]
_MARKS = {"done": "[x]", "open": "[ ]", "unknown": "[?]"}
_COLOURS = {"done": "green", "open": "yellow", "unknown": "dim"}
_TITLES = {
    "wsl2": "CUDA in WSL 2, from Windows on",
    "windows": "CUDA containers on Windows, with Docker Desktop",
    "ubuntu": "CUDA on Ubuntu",
    "debian": "CUDA on Debian",
    "rhel": "CUDA on RHEL, Fedora and their kin",
    "linux": "CUDA on Linux",
    "jetson": "CUDA on a Jetson",
    "rented": "CUDA on a rented GPU",
}
_SIDES = {
    "powershell": "In PowerShell, on Windows, started as administrator",
    "sh": "In Linux: open the distribution (`wsl.exe` in PowerShell, or the start menu)",
}
_PROGRAMS = frozenset(("nvcc", "modinfo", "torch"))
_WAYS = {
    "docker-desktop": "way A, Docker Desktop",
    "docker": "way B, an engine in the distribution",
}


class Line(NamedTuple):
    """One step as a template prints it; ``command`` is empty where ``text`` says what to do."""

    why: str
    command: str
    text: str
    check: str


class Part(NamedTuple):
    """One section as a template prints it.

    Attributes:
        way: which of several ways it belongs to, in words; empty = all of them.
        asked: the argument without which a script leaves it out; empty = it is always done.
        side: where this section and those after it are done; empty = where the one before was.
    """

    number: int
    section: Section
    mark: str
    way: str
    asked: str
    side: str
    lines: tuple[Line, ...]


def text(guide: Guide, written: str, paint: Paint | None = None) -> str:
    """The guide in a format: ``terminal``, ``markdown``, ``bash`` or ``powershell``.

    Args:
        guide: the guide.
        written: the format.
        paint: colours a text, None = without colour.
    """
    if written == "terminal":
        return "\n".join(_terminal(guide, paint or (lambda text, _: text))) + "\n"
    # jinja2 is slow to load, and a terminal needs none of it.
    from envbuild.render import templates

    template = {"markdown": "guide.md.j2", "bash": "guide.sh.j2", "powershell": "guide.ps1.j2"}
    parts = tuple(_parts(guide))
    runs_in = {"bash": "sh"}.get(written, written)
    values = {
        "title": _TITLES[guide.kind],
        "guide": guide,
        "parts": parts,
        "arguments": _arguments(parts, runs_in),
        "again": shlex.join(("envbuild", *guide.again)),
        "ps": ps,
        "word": spell.word,
        "home": _home,
        "mark": _marker(guide),
        "grouped": _grouped,
    }
    # Without this mark, Windows PowerShell reads a file in the code page of the machine, where
    # parts of foreign letters are quotes.
    mark = "\ufeff" if written == "powershell" else ""
    return mark + templates.fill(f"setup/{template[written]}", **values).decode()


def _parts(guide: Guide) -> list[Part]:
    ways = {section.way for section in guide.sections} - {""}
    several = len(ways) > 1
    return [
        Part(
            number,
            _spoken(section),
            _MARKS[section.state],
            _WAYS.get(section.way, "") if several else "",
            section.id if section.optional else section.way if several else "",
            _side(guide, number - 1),
            tuple(_line(section, step) for step in section.steps),
        )
        for number, section in enumerate(guide.sections, 1)
    ]


def _side(guide: Guide, index: int) -> str:
    """Where to go for a section, if the one before it was elsewhere."""
    here = guide.sections[index].runs_in
    if guide.kind not in {"wsl2", "windows"} or (
        index > 0 and guide.sections[index - 1].runs_in == here
    ):
        return ""
    return _SIDES[here]


def _arguments(parts: tuple[Part, ...], runs_in: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What a script takes, and the titles of the sections that each of them adds."""
    found: dict[str, tuple[str, ...]] = {}
    for part in parts:
        if part.asked and part.section.runs_in == runs_in:
            found[part.asked] = (*found.get(part.asked, ()), part.section.title)
    return tuple(found.items())


def _spoken(section: Section) -> Section:
    """Its sentences with a capital, where they do not begin with the name of a program."""
    return replace(section, why=_sentence(section.why), fails=_sentence(section.fails))


def _sentence(text: str) -> str:
    first = text.split(" ", 1)[0]
    spoken = first.isalpha() and first.islower() and first not in _PROGRAMS
    return text[:1].upper() + text[1:] if spoken else text


def _line(section: Section, step: Step) -> Line:
    speak = spell.powershell if section.runs_in == "powershell" else spell.bash
    return Line(step.why, speak(step) if step.argv else "", step.text, step.check)


def _grouped(command: str) -> str:
    """A command that `|| return` can follow: several of them in a shell of their own.

    What envbuild makes lies where the reader is.
    """
    if command.startswith("envbuild "):
        command = f'cd "$OLDPWD" && {command}'
    return f"( {command} )" if "&&" in command or "||" in command else command


def _home(path: str) -> str:
    """A path in the home folder, as a POSIX shell reads it."""
    return f'"$HOME"/{shlex.quote(path)}'


def _marker(guide: Guide) -> str:
    """What ends a text between commands: a word that none of its lines is."""
    lines = {line for s in guide.sections for file in s.files for line in file.text.splitlines()}
    marker = "END"
    while marker in lines:
        marker += "_"
    return marker


def _terminal(guide: Guide, paint: Paint) -> list[str]:
    from envbuild.cli.show import clean

    lines = [paint(_TITLES[guide.kind], "bold"), *guide.about, ""]
    for part in _parts(guide):
        section = part.section
        head = f"{part.number}. {section.title}"
        notes = [n for n in ("only if you need it" if section.optional else "", part.way) if n]
        note = f"  ({', '.join(notes)})" if notes else ""
        mark = paint(part.mark, _COLOURS[section.state])
        if part.side:
            lines += ["", paint(f"--- {part.side}", "bold"), ""]
        lines.append(f"{mark} {paint(head, 'bold')}{note}")
        if section.seen:
            lines.append(f"    seen   {section.seen}")
        if section.state != "done":
            lines.append(f"    why    {section.why}")
            lines += [
                f"    file   ~/{file.path} (--format markdown or bash holds it)"
                for file in section.files
            ]
            for line in part.lines:
                lines.append(f"    do     {paint('# ' + line.why, 'dim')}")
                lines += [f"           {one}" for one in (line.command or line.text).splitlines()]
        lines.append(f"    check  {section.test}")
        if section.state != "done":
            lines.append(f"    fails  {section.fails}")
    return [clean(line) if "\x1b" not in line else line for line in lines]
