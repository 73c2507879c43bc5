"""Nonsense is told from questions: one clear error with exit code 2, never a traceback."""

import contextlib
import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envbuild.cli.app import run
from envbuild.cli.options import RequestFlags
from envbuild.errors import InputError
from envbuild.matrix.load import load
from envbuild.planner import ranges
from envbuild.planner.resolve import resolve
from tests.planner.ask import ask, target

FLAGS = ["--cc", "--gpu", "--driver", "--cuda", "--torch", "--with", "--feature", "--base-os",
         "--arch", "--platform", "--l4t", "--glibc", "--gcc", "--as-of"]  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "what", "fix"),
    [
        ({"cc": "99"}, "'99' is not a compute capability", "nearest: 9.0"),
        ({"cc": "abc"}, "is not a compute capability", "6.1, 61 or sm_61"),
        ({"cc": "sm_90a"}, "is a target", "--feature arch-specific"),
        ({"cc": "all,6.1"}, "no other cc", "--cc all alone"),
        ({"gpus": ("GTX 9999",)}, "no GPU product", "--cc"),
        ({"cc": "6.1", "cuda": ">=x"}, "not a range", "12.6"),
        ({"cc": "6.1", "cuda": ""}, "not a range", "12.6"),
        ({"cc": "6.1", "cuda": ">12.*"}, "takes no .*", ">12"),
        (
            {"cc": "6.1", "driver": "latest"},
            "'latest' is not a driver version",
            "580.95.05",
        ),
        ({"cc": "6.1", "base_os": "ubunto"}, "--base-os", "ubuntu"),
        ({"cc": "6.1", "features": "wgma"}, "--feature", "wgmma"),
        ({"cc": "6.1", "packages": "nunba"}, "--with 'nunba'", "numba"),
        ({"cc": "6.1", "packages": "torch==2.8.0,torch==2.7.1"}, "twice", "one version"),
        ({"cc": "6.1", "packages": "a b"}, "not a package name", "numba"),
        ({"cc": "6.1", "arch": "x64"}, "--arch", "x86_64"),
        ({"cc": "6.1", "platform": "beos"}, "--platform", "linux"),
        ({"cc": "8.7", "l4t": "99"}, "--l4t", "36.4"),
        ({"cc": "6.1", "cuda": "latest"}, "not a range", "leave the flag out"),
        ({"cc": "6.1", "cuda": ">=12.4 <13"}, "not a range", "comma"),
        ({"cc": "6.1", "cuda": "-1"}, "not a range", "12.6"),
        ({"cc": "6.1", "cuda": "\u0661\u0662"}, "not a range", "12.6"),
        ({"cc": "6.1", "cuda": "9" * 300}, "300 characters", "12.6"),
        ({"cc": "6.1", "cuda": "cu126"}, "not a range", "12.6"),
        ({"cc": "6.1", "driver": "13.0"}, "nvidia-smi's CUDA version", "580.95.05"),
        ({"cc": "6.1", "driver": "CUDA 13.0"}, "not a driver version", "nvidia-smi"),
        ({"cc": "6.1", "driver": "32.0.15.8142"}, "device manager", "581.42"),
        ({"cc": "6.1", "driver": "\u0665\u0668\u0660"}, "not a driver version", "580"),
        ({"cc": "6.1", "platform": "linux/amd64", "arch": "aarch64"}, "two machines", "one of"),
        ({"cc": "8.7", "platform": "linux", "l4t": "r36.4"}, "a Jetson's", "one of"),
        ({"cc": "8.6", "packages": "pytorch"}, "--with 'pytorch'", "torch"),
        ({"cc": "8.6", "packages": "torch==banana"}, "--torch '==banana'", "12.6"),
        ({"cc": "8.6", "packages": "python==3.13"}, "not a package", "debian13 (3.13)"),
        ({"cc": "8.6", "packages": "python==2.7"}, "not a package", "no base has it"),
        ({"cc": "8.6", "base_os": "alpine:3.20"}, "musl", "glibc"),
        ({"cc": "8.6", "base_os": "Fedora 44", "where": "host"}, "not in the matrices", "--glibc"),
        ({"cc": "8.6", "base_os": "debian11"}, "not known", "debian12"),
        ({"cc": "8.6", "platform": "windows"}, "inside WSL 2", "--platform wsl2"),
        ({"gpus": ("Titan",)}, "7.0 (TITAN V)", "--cc"),
        ({"cc": "8.6;9.0"}, "not a compute capability", "6.1,8.6"),
        ({"cc": "8.6", "driver": "58095.05"}, "no driver version", "580.95.05"),
        ({"gpus": ("10de:ffff",)}, "no PCI id", "--cc"),
        ({"gpus": ("GT 710",)}, "3.5 (GK208B, GK208) or 2.1 (GF119)", "lspci -nn"),
        ({"cc": "6.1", "as_of": "tomorrow"}, "not a date", "YYYY-MM-DD"),
        ({"cc": "6.1", "as_of": "20261201"}, "not a date", "YYYY-MM-DD"),
    ],
)
def test_one_clear_error(fields: dict[str, Any], what: str, fix: str) -> None:
    with pytest.raises(InputError) as e:
        ask(**fields)
    assert what in e.value.what
    assert fix in f"{e.value.why} {e.value.fix}"


@pytest.mark.parametrize(
    ("typed", "cc"), [("61", "6.1"), ("sm_61", "6.1"), (" 12.1 ", "12.1"), ("sm_101", "11.0")]
)
def test_spellings_of_a_cc(typed: str, cc: str) -> None:
    assert target(typed).cc == (cc,)


def test_aliases_of_names() -> None:
    assert target("8.6", base_os="Ubuntu 24.04").base_os == "ubuntu24.04"
    assert target("8.6", base_os="trixie").base_os == "debian13"
    assert target("8.6", features="Tensor_Cores").features == ("tensor-cores",)
    assert target("6.1,6.1,61").cc == ("6.1",)
    for branch in ("580", "R580", "r580", " 580 "):
        assert target("8.6", driver=branch).driver == "580.173.02"
    assert target("8.6", driver="R580.65.06").driver == "580.65.06"
    assert target("8.6", platform="linux/arm64", arch="aarch64").arch == "aarch64"


@pytest.mark.parametrize(
    ("typed", "name"),
    [("numba>=0.60", "numba"), ("numba[x]", "numba"), ("obscure[y]", "obscure[y]")],
)
def test_extras_of_packages(typed: str, name: str) -> None:
    assert [
        w.name
        for w in resolve(RequestFlags(cc=["8.6"], with_=[typed]).request(), None, load()).packages
    ] == [name]


def test_a_named_system_brings_its_c_library_compiler_and_python() -> None:
    made = target("8.6", base_os="ubuntu26.04", where="host")
    assert (made.glibc, made.gcc, made.python) == ("2.43", "15", "3.14")
    assert {p.fact: p.origin for p in made.provenance}["glibc"] == "base-os"
    assert target("8.6", base_os="ubuntu26.04", where="host", glibc="2.39").glibc == "2.39"
    assert target("8.6", base_os="ubuntu26.04").glibc is None
    assert ask("6.1", base_os="ubuntu26.04", where="host").outcome == "refuse"


def test_lists_at_commas_and_an_exact_build() -> None:
    asked = RequestFlags(gpu=["GTX 1080 Ti, RTX 5090"], torch="2.8.0+cu128").request()
    made = resolve(asked, None, load())
    assert made.cc == ("6.1", "12.0")
    assert made.torch is not None
    assert made.torch.range is not None
    assert made.torch.range.local == "cu128"
    assert ranges.parse(">=2.8,<2.9", "--torch").local == ""


def test_long_lists_are_refused_before_any_search() -> None:
    with pytest.raises(InputError, match="at most 64"):
        ask(",".join(["6.1"] * 65))
    assert run(["plan", "--cc", ",".join(["6.1"] * 5000)]) == 2


def test_a_package_without_a_row_is_said_to_be_not_judged() -> None:
    plan = ask("8.6", packages="obscure-name")
    assert plan.outcome == "warn"
    assert "obscure-name" in plan.packages


NOISE = st.one_of(
    st.text(max_size=30),
    st.text(alphabet=string.printable, max_size=30),
    st.text(alphabet="0123456789.<>=!~,*+ -", max_size=20),
    # A NUL, an escape sequence, digits of another script, and beginnings of what would be right.
    st.sampled_from(["\x00", "\x1b[2J", "..", "1" * 400, "\u0663.\u0665", "6.1\n", "==", "~=1"]),
)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(st.sampled_from(FLAGS), NOISE)
def test_noise_never_ends_in_a_traceback(flag: str, text: str) -> None:
    args = ["plan", "--json", f"{flag}={text}"]
    if flag not in {"--cc", "--gpu"}:
        args += ["--cc", "8.6"]
    assert run(args) in {0, 2, 3, 4}


@settings(max_examples=300, deadline=None, derandomize=True)
@given(NOISE)
def test_versions_and_ranges_of_noise(text: str) -> None:
    with contextlib.suppress(InputError):
        assert all(number >= 0 for number in ranges.numbers(text))
    with contextlib.suppress(InputError):
        assert ranges.parse(text, "--cuda").clauses


@pytest.mark.parametrize(
    ("range", "inside", "outside"),
    [
        ("12.6", ["12.6", "12.6.3"], ["12.5.1", "12.60", "13.0"]),
        ("13", ["13.0.0", "13.5"], ["12.9", "1.3"]),
        ("12.x", ["12.0", "12.9.1"], ["13.0", "11.8"]),
        ("~=12.6", ["12.6", "12.9.1"], ["12.5.1", "13.0"]),
        (" >= 12.4 , < 13 ", ["12.4.0", "12.9.1"], ["12.3.2", "13.0"]),
        (">=12.4,<13", ["12.4.0", "12.9.1"], ["12.3.2", "13.0"]),
        ("<=12.9", ["12.9.1", "11.8"], ["13.0"]),
        (">12.8", ["12.9"], ["12.8.1"]),
        ("!=12.9", ["12.8"], ["12.9.1"]),
        ("~=2.8", ["2.8.0", "2.14"], ["3.0", "2.7"]),
        ("==2.8.*", ["2.8.0+cu126"], ["2.9.0"]),
    ],
)
def test_ranges_compare_the_parts_that_are_written(
    range: str, inside: list[str], outside: list[str]
) -> None:
    made = ranges.parse(range, "--cuda")
    assert all(version in made for version in inside)
    assert not any(version in made for version in outside)


def test_no_plan_is_made_for_a_host_of_wsl_1(capsys: pytest.CaptureFixture[str]) -> None:
    """No Linux driver is named for a system that has no kernel of its own."""
    host = str(Path(__file__).parents[1] / "hosts" / "wsl1.json")
    assert run(["plan", "--cc", "8.9", "--host", host]) == 2
    out, err = capsys.readouterr()
    assert (out, "WSL 1" in err, "wsl --set-version" in err) == ("", True, True)
    assert run(["plan", "--cc", "8.9", "--host", host, "--platform", "wsl2"]) == 0
