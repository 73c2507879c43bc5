"""What the toolkit's C headers say: newest host compilers, and names that glibc has as well."""

import re
from typing import NamedTuple

# sinpi of glibc 2.41 and rsqrt of 2.42 do not throw; a header that declares them bare clashes.
_CLASHING = ("cospi", "cospif", "rsqrt", "rsqrtf", "sinpi", "sinpif")


class Ceilings(NamedTuple):
    """Newest major versions that the header lets through; None where it names none."""

    gcc: int | None
    clang: int | None


def ceilings(host_config: str) -> Ceilings:
    """The guards of ``crt/host_config.h`` for gcc and for clang on Linux.

    The header has more guards for clangs that only special systems have (QNX, Grace); the one
    that counts is followed by the text "unsupported clang version".
    """
    gcc = re.search(r"#if __GNUC__ > (\d+)", host_config)
    clang = re.search(
        r"#if \(__clang_major__ >= (\d+)\)[^\n]*\n+#error -- unsupported clang version",
        host_config,
    )
    return Ceilings(int(gcc[1]) if gcc else None, int(clang[1]) - 1 if clang else None)


def bare(math_functions: str) -> tuple[str, ...]:
    """Functions of newer C libraries that ``crt/math_functions.h`` declares without ``throw()``.

    C++ refuses a second declaration with another exception specification: where glibc has the
    function too, such a header does not compile.
    """
    return tuple(name for name in _CLASHING if _is_bare(math_functions, name))


def _is_bare(text: str, name: str) -> bool:
    declared = re.search(
        rf"^extern [^\n]*\b(?:double|float)\s+{name}\([^)]*\)\s*;", text, re.MULTILINE
    )
    return declared is not None


def prerequisites(math_functions: str) -> tuple[str, ...]:
    """The glibc versions that ``crt/math_functions.h`` asks for: ``2.41``."""
    found = re.findall(r"__GLIBC_PREREQ\s*\(\s*(\d+)\s*,\s*(\d+)\s*\)", math_functions)
    return tuple(dict.fromkeys(f"{major}.{minor}" for major, minor in found))
