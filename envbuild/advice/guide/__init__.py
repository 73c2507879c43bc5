"""Guides: from a machine as it is to one that a plan runs on, section by section."""

from envbuild.advice.guide import engine, jetson, native, rented, windows, wsl
from envbuild.advice.guide.base import Case, Make
from envbuild.values.codec import replace
from envbuild.values.guide import Guide, Kind, Section

SECTIONS: dict[Kind, tuple[Make, ...]] = {
    "wsl2": wsl.SECTIONS,
    "ubuntu": native.SECTIONS,
    "debian": native.SECTIONS,
    "rhel": native.SECTIONS,
    "linux": native.SECTIONS,
    "jetson": jetson.SECTIONS,
    "rented": rented.SECTIONS,
    "windows": (*windows.BEFORE, engine.desktop, engine.desktop_gpu, *windows.TOOLS, windows.hold),
}
"""The sections of each kind, in the order to do them in."""


def guide(case: Case, about: tuple[str, ...] = (), again: tuple[str, ...] = ()) -> Guide:
    """The guide for a case.

    Args:
        case: machine, plans, system and way.
        about: what it is for, a line each.
        again: arguments of ``envbuild`` that make it again.
    """
    made = (make(case) for make in SECTIONS[case.kind])
    sections = _once(tuple(section for section in made if section is not None))
    return Guide(
        kind=case.kind, about=about, again=again, sections=sections, matrix=case.plan.matrix
    )


def _once(sections: tuple[Section, ...]) -> tuple[Section, ...]:
    """What an earlier section wrote is not written again: readers would look for a reason."""
    seen: set[tuple[str, ...]] = set()
    found = []
    for section in sections:
        kept = tuple(
            s for s in section.steps if s.argv not in seen or "preferences.d" not in str(s)
        )
        seen.update(step.argv for step in section.steps)
        found.append(replace(section, steps=kept))
    return tuple(found)
