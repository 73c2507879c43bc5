"""What a wheel's METADATA and the names of its siblings say: pins, and interpreters."""

import contextlib
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from envbuild.matrix.vendor.model import Unmeasurable
from envbuild.matrix.vendor.wheel import WheelFacts

if TYPE_CHECKING:
    from envbuild.matrix.vendor.index import Listed

_ANY_PYTHON = "3.12"  # for markers in wheels that name no interpreter


def asks(facts: WheelFacts, name: str, arch: str) -> SpecifierSet | None:
    """Which versions of another project a wheel asks for on Linux; None where it does not.

    Args:
        facts: of the wheel; markers are judged for its own interpreter.
        name: a regular expression for the normalised name.
        arch: ``x86_64`` or ``aarch64``.
    """
    for requirement in _applying(facts, arch):
        if re.fullmatch(name, canonicalize_name(requirement.name)):
            return requirement.specifier
    return None


def pin(facts: WheelFacts, name: str, arch: str) -> str | None:
    """The version that a wheel asks of another project; arguments and None as for `asks`.

    Raises:
        Unmeasurable: it asks for a range, not for a version.
    """
    asked = asks(facts, name, arch)
    if asked is None:
        return None
    for one in asked:
        if one.operator in {"==", "~="} and "*" not in one.version:
            return one.version
    what = f"it asks for no version of {name}, but for {asked or 'any'}"
    raise Unmeasurable(what)


def leaves_open(facts: WheelFacts, name: str) -> bool:
    """Whether a wheel asks for another project, in any of its extras, without naming a version."""
    return any(
        re.fullmatch(name, canonicalize_name(one.name)) and "==" not in str(one.specifier)
        for one in _requirements(facts)
    )


def _requirements(facts: WheelFacts) -> Iterable[Requirement]:
    """All requirements; what cannot be read is passed over."""
    for text in facts.requires:
        with contextlib.suppress(InvalidRequirement):
            yield Requirement(text)


def _applying(facts: WheelFacts, arch: str) -> Iterable[Requirement]:
    """The requirements that hold on Linux, without extras."""
    python = facts.interpreter or _ANY_PYTHON
    environment = {
        "extra": "",
        "implementation_name": "cpython",
        "os_name": "posix",
        "platform_machine": arch,
        "platform_python_implementation": "CPython",
        "platform_system": "Linux",
        "python_full_version": f"{python}.0",
        "python_version": python,
        "sys_platform": "linux",
    }
    for one in _requirements(facts):
        if one.marker is None or one.marker.evaluate(environment):
            yield one


def pythons(wheels: Iterable["Listed"], range_: str, known: Iterable[str]) -> tuple[str, ...]:
    """Which of the ``known`` CPython versions have a wheel and are in the range.

    Args:
        wheels: of one version, for one platform.
        range_: its ``Requires-Python``, empty = any.
        known: ``3.12`` and so on, in the order wanted.
    """
    try:
        allowed = SpecifierSet(range_)
    except InvalidSpecifier:
        allowed = SpecifierSet()
    tags = [(tag.interpreter, tag.abi) for wheel in wheels for tag in wheel.tags]
    return tuple(
        python
        for python in known
        if allowed.contains(python) and any(_takes(python, *tag) for tag in tags)
    )


def _takes(python: str, interpreter: str, abi: str) -> bool:
    """Whether this CPython, with its lock, installs a wheel of these tags."""
    if interpreter.startswith("py"):
        return interpreter in {"py3", "py" + python.replace(".", "")}
    match = re.fullmatch(r"cp(\d)(\d+)", interpreter)
    if match is None:
        return False
    least, here = (int(match[1]), int(match[2])), tuple(map(int, python.split(".")))
    if abi == "abi3":
        return least <= here
    # Up to 3.7 the name of the ABI ends in m.
    return least == here and abi in {interpreter, f"{interpreter}m", "none"}
