"""Ceilings and glibc-sensitive declarations, out of header texts as the vendor writes them.

The lines are cut from nvidia-cuda-nvcc-cu12 12.9.86 and nvidia-cuda-crt 13.0.88, 13.5.37
(2026-12-01); real compilers then say the same of the declarations.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

from envbuild.matrix.vendor import headers

GUARDS_13_5 = """
#if defined(__GRCO_CLANG_COMPILER__)
#if (__GRCO_CLANG_COMPILER__ == 1) && ((__clang_major__ < 16) || (__clang_major__ > 22))
#error -- unsupported Grace clang version! The version must be 16.x to 22.x.
#endif
#endif
#if defined(__GNUC__)

#if __GNUC__ > 16

#error -- unsupported GNU version! gcc versions later than 16 are not supported!

#endif /* __GNUC__ > 16 */
#if defined(__HORIZON__)
#if (__clang_major__ >= 22) || (__clang_major__ < 3) || ((__clang_major__ == 3) &&  (__clang_minor__ < 3))
#error -- unsupported HOS clang version! The version must be must be less than 22
#endif
#endif
#if defined(__clang__) && !defined(__ibmxl_vrm__)

#if (__clang_major__ >= 23) || (__clang_major__ < 3) || ((__clang_major__ == 3) &&  (__clang_minor__ < 3))
#error -- unsupported clang version! clang version must be less than 23 and greater than 3.2 .
#endif
#endif
#endif
"""  # noqa: E501 - as it is
BARE = "extern __DEVICE_FUNCTIONS_DECL__ __device_builtin__ double                 {}(double x){};"


def test_the_guard_of_linux_counts_and_not_that_of_another_system() -> None:
    assert headers.ceilings(GUARDS_13_5) == headers.Ceilings(gcc=16, clang=22)


def test_a_header_without_guards_has_no_ceiling() -> None:
    assert headers.ceilings("#pragma once\n") == headers.Ceilings(None, None)


@pytest.mark.parametrize(
    ("guard", "bare"),
    [("", ("cospi",)), (" _NV_RSQRT_SPECIFIER", ()), (" __THROW", ())],
)
def test_a_declaration_is_bare_without_a_specifier(guard: str, bare: tuple[str, ...]) -> None:
    assert headers.bare(BARE.format("cospi", guard)) == bare


@pytest.mark.parametrize(
    "text",
    [
        " * - cospi(\n",
        "__MATH_FUNCTIONS_DECL__ float cospi(const float a);\n",
        "extern double acospi(double x);\n",
    ],
    ids=["comment", "overload", "another"],
)
def test_what_only_looks_like_the_declaration_is_not_taken(text: str) -> None:
    assert headers.bare(text) == ()


def test_the_glibc_a_header_asks_for() -> None:
    text = "# if __GLIBC_PREREQ(2,42)\n#  if __GLIBC_PREREQ(2, 41) && X\n#if __GLIBC_PREREQ(2,42)\n"
    assert headers.prerequisites(text) == ("2.42", "2.41")


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ on this machine")
@pytest.mark.parametrize("guard", ["", " noexcept"])
def test_a_compiler_refuses_exactly_what_is_called_bare(guard: str, tmp_path: Path) -> None:
    own = f'extern "C" {{\nextern double cospi(double x){guard};\n}}\n'
    glibc = 'extern "C" double cospi(double) noexcept;\n'
    source = tmp_path / "t.cc"
    source.write_text(own + glibc)
    done = subprocess.run(["g++", "-fsyntax-only", str(source)], capture_output=True, check=False)
    assert (done.returncode != 0) == bool(headers.bare(own))
