"""Each rule on both sides of its boundary: what it refuses, and the nearest thing it lets pass."""

# ruff: noqa: E501 - one row a line reads as the table that it is

from typing import Any

import pytest

from envbuild.planner import rules
from envbuild.planner.rules.base import verdict
from envbuild.planner.table import bits
from tests.planner.ask import table, target

Q = dict[str, Any]
DEFAULT: Q = {"cc": "6.1"}

# rule, what it judges (text found in the place or build), refused by, let pass by
HARD: list[tuple[str, str, Q, Q]] = [
    ("right-side", "13.0 wheels None", {}, {"where": "host"}),
    ("right-side", "13.0 wheels debian12", {"where": "host"}, {}),
    ("host-system", "12.4 distro None", {"where": "host"}, {"where": "host", "base_os": "debian13"}),
    (
        "host-system",
        "12.4 distro None",
        {"where": "host", "base_os": "debian13", "platform": "wsl2"},
        {"where": "host", "base_os": "debian13"},
    ),
    ("host-system", "12.9 apt None", {"where": "host", "base_os": "debian13", "platform": "wsl2"}, {"where": "host", "platform": "wsl2"}),
    ("host-system", "12.9 apt None", {"where": "host"}, {"where": "host", "base_os": "ubuntu24.04"}),
    ("compiler-wanted", "framework", {}, {"packages": "torch"}),
    (
        "compiler-wanted",
        "framework",
        {"packages": "torch", "features": "extension"},
        {"packages": "torch"},
    ),
    ("flavour-there", "12.4 distro debian13", {"flavour": "runtime"}, {"flavour": "devel"}),
    (
        "flavour-compiles",
        "13.0 image",
        {"flavour": "base", "features": "extension", "packages": "torch"},
        {"flavour": "devel", "features": "extension", "packages": "torch"},
    ),
    ("driver-drives-card", "12.9 image", {"driver": "590.48.01"}, {"driver": "580.173.02"}),
    ("driver-drives-card", "11.8 image", {"cc": "3.5", "driver": "535.1"}, {"cc": "3.5", "driver": "470.82"}),
    ("driver-drives-card", "12.8 image", {"cc": "12.0", "driver": "565.57"}, {"cc": "12.0", "driver": "570.86.16"}),
    ("driver-drives-card", "13.4 image", {"cc": "10.7", "driver": "610.43"}, {"cc": "10.7", "driver": "615.10"}),
    ("card-arch", "13.0 image", {"cc": "12.1", "arch": "x86_64"}, {"cc": "12.1", "arch": "aarch64"}),
    ("one-machine", "12.9 redist None", {"cc": "6.1,12.0", "where": "host"}, {"cc": "6.1,9.0", "where": "host"}),
    ("one-machine", "12.9 redist None", {"cc": "6.1,12.0", "where": "host"}, {"cc": "6.1,12.0", "where": "host", "platform": "wsl2"}),
    ("wsl-card", "11.8 image", {"cc": "3.5", "platform": "wsl2"}, {"cc": "5.2", "platform": "wsl2"}),
    ("wsl-card", "12.9 image", {"cc": "8.7", "platform": "wsl2"}, {"cc": "8.6", "platform": "wsl2"}),
    ("package-python", "12.8 redist ubuntu26.04", {"cc": "8.6", "packages": "tensorflow"}, {"skip": "12.8 redist ubuntu24.04", "cc": "8.6", "packages": "tensorflow"}),
    ("feature-in-hardware", "13.0 image", {"cc": "7.0", "features": "bf16"}, {"cc": "8.0", "features": "bf16"}),
    ("feature-in-hardware", "13.0 image", {"cc": "12.0", "features": "wgmma"}, {"cc": "9.0", "features": "wgmma"}),
    ("toolkit-target", "13.0 image", {"cc": "7.0"}, {"cc": "7.5"}),
    ("toolkit-target", "12.0 image", {"cc": "3.7"}, {"cc": "5.0"}),
    ("toolkit-target", "12.6 image", {"cc": "12.0"}, {"cc": "9.0"}),
    ("toolkit-target", "12.8 image", {"cc": "10.3"}, {"cc": "10.0"}),
    ("toolkit-target", "12.9 image", {"cc": "11.0"}, {"cc": "12.1"}),
    ("toolkit-target", "11.8 image", {"cc": "9.0", "features": "wgmma"}, {"cc": "9.0"}),
    ("driver-floor", "13.0 wheels", {"cc": "8.6", "driver": "575.64"}, {"cc": "8.6", "driver": "580.65.06"}),
    ("driver-floor", "12.0 redist", {"cc": "8.6", "driver": "520.61.05"}, {"cc": "8.6", "driver": "525.60.13"}),
    ("driver-floor", "11.8 distro", {"cc": "8.6", "driver": "418.0"}, {"cc": "8.6", "driver": "450.80.02"}),
    ("driver-floor", "11.8 distro", {"platform": "wsl2", "driver": "472.12"}, {"platform": "wsl2", "driver": "496.13"}),
    ("driver-floor", "11.8 distro", {"platform": "wsl2", "driver": "472.12"}, {"driver": "472.12"}),
    ("tag-floor", "13.0.0 image", {"cc": "8.6", "driver": "575.64"}, {"cc": "8.6", "driver": "580.65.06"}),
    ("tag-floor", "13.0.0 image", {"gpus": ("RTX 3090",), "cc": "", "driver": "550.54"}, {"gpus": ("A100",), "cc": "", "driver": "550.54"}),
    ("tag-floor", "13.0.0 image", {"gpus": ("A100",), "cc": "", "driver": "545.23"}, {"gpus": ("A100",), "cc": "", "driver": "535.54"}),
    ("jetson", "12.6 image ubuntu", {"cc": "8.7", "l4t": "36.4"}, {"cc": "8.7", "arch": "aarch64", "platform": "linux"}),
    ("jetson", "12.9 image", {"cc": "11.0", "l4t": "38"}, {"cc": "8.6"}),
    ("place-arch", "apt debian12", {"arch": "aarch64"}, {"arch": "x86_64"}),
    ("glibc-clash", "12.9 redist ubuntu26.04", {}, {"skip": "12.9 redist ubuntu24.04"}),
    ("glibc-clash", "13.1 wheels None", {"where": "host", "glibc": "2.42"}, {"where": "host", "glibc": "2.41"}),
    ("glibc-clash", "13.1 wheels None", {"where": "host", "glibc": "2.42"}, {"skip": "13.2 wheels None", "where": "host", "glibc": "2.42"}),
    ("compiler-there", "12.6 redist ubuntu26.04", {}, {"skip": "12.8 redist ubuntu26.04"}),
    ("compiler-there", "12.3 image centos7", {}, {"flavour": "runtime"}),
    ("tag-exists", "13.2.1 image ubuntu24.04", {"flavour": "base"}, {"flavour": "devel"}),
    ("package-beside", "13.0 image", {"cc": "8.6", "packages": "numba,numpy==2.5"}, {"cc": "8.6", "packages": "numba,numpy==2.4"}),
    ("package-served", "11.8 image", {"cc": "8.6", "packages": "numba"}, {"skip": "12.0 image", "cc": "8.6", "packages": "numba"}),
    ("package-served", "13.4 image", {"cc": "8.6", "packages": "cupy"}, {"skip": "13.3 image", "cc": "8.6", "packages": "cupy"}),
    ("package-served", "12.9 image", {"cc": "3.7", "packages": "cupy"}, {"cc": "5.0", "packages": "cupy"}),
    ("package-jit", "12.6 image", {"cc": "8.6", "packages": "numba", "driver": "550.163.01"}, {"cc": "8.6", "packages": "numba", "driver": "560.35.03"}),
    ("python-there", "image centos7", {"packages": "numba"}, {}),
    ("cuda-range", "12.8.1 image", {"cuda": "12.9"}, {"cuda": "12.8"}),
    ("cuda-range", "12.8.1 image", {"cuda": "<12.8"}, {"cuda": "<=12.8"}),
    ("base-os", "image ubuntu22.04", {"base_os": "ubuntu24.04"}, {"base_os": "jammy"}),
    ("tag-kept", "12.6.0 image", {}, {"skip": "12.6.3 image"}),
    ("tag-seen", "12.9.2 image", {}, {"skip": "12.9.1 image"}),
    ("tag-starts", "12.9.1 image", {"driver": "550.163.01"}, {"driver": "575.51.03"}),
    ("tag-starts", "12.4.1 image", {"driver": "545.23"}, {"driver": "550.54.14"}),
    ("tag-starts", "12.4.1 image", {"driver": "535.54"}, {"gpus": ("T4",), "cc": "", "driver": "535.54"}),
    ("tag-starts", "12.8.1 image", {"gpus": ("RTX 2080 Ti",), "cc": "", "driver": "550.54"}, {"gpus": ("T4",), "cc": "", "driver": "550.54"}),
    ("jit-on-driver", "12.5 image", {"cc": "8.6", "driver": "550.54.14"}, {"cc": "8.6", "driver": "555.42.02"}),
    ("source-asked-for", "12.9 image", {"toolkit_source": "apt"}, {"toolkit_source": "image"}),
    ("source-proven", "12.9 apt", {}, {"where": "host"}),
    ("plain-base", "12.6 image", {"packages": "torch"}, {"packages": "torch", "toolkit_source": "image"}),
    ("own-compiler", "12.4 distro debian13", {}, {"skip": "12.8 redist debian13"}),
    ("own-compiler", "13.3 wheels None", {"where": "host", "gcc": "16"}, {"where": "host", "gcc": "15.2"}),
    ("own-compiler", "13.3 wheels None", {"where": "host", "gcc": "6.5"}, {"where": "host", "gcc": "7.5"}),
    ("own-compiler", "12.9 redist None", {"where": "host", "gcc": "5.4"}, {"where": "host", "gcc": "6.1"}),
    ("own-compiler", "11.8 redist None", {"where": "host", "gcc": "4.8"}, {"where": "host", "gcc": "6.1"}),
    ("toolkit-released", "12.8 image", {"as_of": "2025-01-22"}, {"as_of": "2025-01-23"}),
    ("base-released", "wheels ubuntu26.04", {"as_of": "2026-03-31"}, {"as_of": "2026-04-01"}),
    ("base-supported", "image ubuntu22.04", {"as_of": "2028-01-01"}, {"as_of": "2027-06-30"}),
]  # fmt: skip

BUILDS: list[tuple[str, str, Q, Q]] = [
    ("torch-version", "2.8.0-cu126", {"packages": "torch==2.7.1"}, {"packages": "torch==2.8"}),
    ("torch-version", "2.8.0-cu126", {"packages": "torch==2.8.0+cu128"}, {"packages": "torch==2.8.0+cu126"}),
    ("torch-released", "2.8.0-cu126", {"packages": "torch", "as_of": "2025-08-05"}, {"packages": "torch", "as_of": "2025-08-06"}),
    ("torch-pair", "2.8.0-cu126", {"packages": "torch,torchvision==0.22"}, {"packages": "torch,torchvision==0.23"}),
    ("torch-pins", "2.9.1-pypi", {"packages": "torch,triton==3.2.0"}, {"packages": "torch,triton==3.5.1"}),
    ("torch-pins", "2.9.1-cu126", {"packages": "torch,cudnn==9.11"}, {"packages": "torch,cudnn==9.10"}),
    ("torch-pins", "2.14.0-cu132", {"packages": "torch,triton==3.5.1"}, {"packages": "torch,triton==3.8"}),
    ("torch-beside", "2.2.0-pypi", {"packages": "torch,numpy==2.1"}, {"packages": "torch,numpy==1.26"}),
    ("package-torch", "2.9.1-cu128-x86_64", {"cc": "8.6", "packages": "torch,vllm==0.11.0"}, {"cc": "8.6", "packages": "torch,vllm==0.16.0"}),
    ("package-torch", "2.8.0-cu128-x86_64", {"cc": "8.6", "packages": "torch,tensorflow==2.21.0"}, {"cc": "8.6", "packages": "torch,tensorflow==2.20.0"}),
    ("torch-arch", "2.9.1-cu126-aarch64", {"packages": "torch"}, {"packages": "torch", "arch": "aarch64"}),
    ("torch-code", "2.8.0-cu128-x86_64", {"cc": "6.1", "packages": "torch"}, {"cc": "7.0", "packages": "torch"}),
    ("torch-code", "2.8.0-cu128-x86_64", {"cc": "8.7", "packages": "torch"}, {"cc": "8.9", "packages": "torch"}),
    ("torch-code", "2.11.0-cu128-x86_64", {"cc": "7.0", "packages": "torch"}, {"cc": "7.5", "packages": "torch"}),
    ("torch-code", "2.9.1-cu128-aarch64", {"cc": "11.0", "packages": "torch"}, {"cc": "12.1", "packages": "torch"}),
]  # fmt: skip


def _named(name: str) -> list[int]:
    """Places whose description holds all words of the name."""
    words = name.split()
    found = []
    for i, p in enumerate(table().places):
        text = f"{p.cuda} {p.release} {p.source} {p.os} {p.kind}".split()
        if all(any(t == w or (w == "ubuntu" and w in t) for t in text) for w in words):
            found.append(i)
    return found


def _passed(name: str, query: Q, places: list[int]) -> list[bool]:
    """Whether the rule lets each of these places pass; what it says holds a source."""
    every = (*rules.HARD, *rules.BEFORE, *rules.AFTER)
    rule = next(r for r in every if r.id == name)
    made = verdict(rule, table(), target(**DEFAULT | query))
    for i in places:
        finding = made.about(i)
        assert (finding is None) == bool(made.mask >> i & 1)
        assert finding is None or finding.source
    return [bool(made.mask >> i & 1) for i in places]


@pytest.mark.parametrize(("name", "place", "refused", "passes"), HARD)
def test_both_sides_of_a_rule(name: str, place: str, refused: Q, passes: Q) -> None:
    passes = dict(passes)
    other = passes.pop("skip", place)
    assert _named(place)
    assert not any(_passed(name, refused, _named(place)))
    assert any(_passed(name, passes, _named(other)))


@pytest.mark.parametrize(("name", "build", "refused", "passes"), BUILDS)
def test_both_sides_of_a_build_rule(name: str, build: str, refused: Q, passes: Q) -> None:
    rule = next(r for r in rules.BUILDS if r.id == name)
    named = [f"{b.torch}-{b.index}-{b.arch}" for b in table().builds]
    i = next(i for i, text in enumerate(named) if text.startswith(build))
    assert not verdict(rule, table(), target(**DEFAULT | refused)).mask >> i & 1
    assert verdict(rule, table(), target(**DEFAULT | passes)).mask >> i & 1


def test_every_rule_is_in_the_table() -> None:
    tested = {row[0] for row in (*HARD, *BUILDS)}
    every = {r.id for r in (*rules.HARD, *rules.BUILDS, *rules.BEFORE, *rules.AFTER)}
    # No row says when a toolkit ends, no build has PTX; see test_made_matrices.py.
    assert every - tested == {"toolkit-maintained", "torch-jit"}


def test_verdicts_are_remembered_by_what_a_rule_reads() -> None:
    rule = next(r for r in rules.HARD if r.id == "toolkit-target")
    first = verdict(rule, table(), target("6.1"))
    assert verdict(rule, table(), target("6.1", driver="580.65.06", cuda="12.9")) is first
    assert verdict(rule, table(), target("7.5")) is not first
    assert bits(first.mask)
