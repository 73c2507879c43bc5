"""Triton: which release its row is about, and which of its programs assembles for what."""

from pathlib import Path

import pytest

from envbuild.matrix.model import TritonBuild
from envbuild.matrix.vendor import triton
from envbuild.matrix.vendor.model import Unreadable
from envbuild.matrix.vendor.triton import TritonFacts
from tests.matrix.vendor import made
from tests.matrix.vendor.bed import Bed, differences


def _triton(bed: Bed, version: str, *targets: str) -> None:
    file = f"triton-{version}-cp312-cp312-manylinux_2_27_x86_64.whl"
    bed.add("triton", file, TritonFacts(version=version, targets=targets))


def test_a_triton_row_is_said_of_every_release_up_to_the_next(bed: Bed) -> None:
    row = TritonBuild(
        triton="3.7.0", targets=("80", "90a"), cc_min="8.0", inductor_min="7.0", source=(),
        status="measured",
    )  # fmt: skip
    for version, targets in (("3.6.0", ("70",)), ("3.7.0", ("80", "90a")), ("3.9.0", ("107",))):
        _triton(bed, version, *targets)
    assert bed.judge("triton", row).verdict == "agrees"
    _triton(bed, "3.8.0", "80", "90a", "103")
    judged = bed.judge("triton", row)
    assert differences(judged) == {"targets": "80 90a 103"}
    assert judged.why == "as measured in 3.8.0"


@pytest.mark.parametrize(
    ("choice", "targets"),
    [
        ("return blackwell if arch >= 100 else ptxas", ("80", "90", "100", "103")),
        ("if arch < 90:\n        return ptxas", ("80", "90", "100", "103")),
    ],
)
def test_each_ptxas_counts_for_the_targets_it_is_called_for(
    choice: str, targets: tuple[str, ...], tmp_path: Path
) -> None:
    """Two programs that are made: they accept what they name, the second not below 90."""
    said = "echo \"ptxas fatal : Unsupported .version 99.0; current version is '9.0'\" >&2; exit 1"
    wanted = 'case "$*" in *--help*) {help};; *arch=sm_75*) {said};; esac'
    old = wanted.format(help="echo \"'sm_75','sm_80','sm_90','sm_101'\"", said=said)
    new = wanted.format(help="echo \"'sm_90','sm_100','sm_103'\"", said=said)
    members = {
        "triton/backends/nvidia/bin/ptxas": f"#!/bin/sh\n{old}\n".encode(),
        "triton/backends/nvidia/bin/ptxas-blackwell": f"#!/bin/sh\n{new}\n".encode(),
        "triton/backends/nvidia/compiler.py": f"def get_ptxas(arch):\n    {choice}\n".encode(),
    }
    path = made.wheel(tmp_path, "triton-3.9.0-cp312-cp312-manylinux_2_28_x86_64.whl", members)
    assert triton.read(path).targets == targets
    undecided = {**members, "triton/backends/nvidia/compiler.py": b"def get_ptxas(): ..."}
    with pytest.raises(Unreadable, match="which it takes"):
        triton.read(made.wheel(tmp_path, path.name, undecided))
    with pytest.raises(Unreadable, match="no ptxas"):
        triton.read(made.wheel(tmp_path, path.name))
