"""Where wheels have no nvcc: the plan for NVRTC, from the real matrices."""

import pytest

from envbuild.engines.device import device_plan
from envbuild.matrix.load import load
from envbuild.values.plan import Plan
from envbuild.values.request import Request
from tests.engines.wheelhouse import MATRIX


def plan(cuda: str | None, *promise: str, wanted: str | None = None) -> Plan:
    return Plan(
        outcome="ok", cuda=cuda, promise=promise, matrix=MATRIX, request=Request(cuda=wanted)
    )


@pytest.mark.parametrize(
    ("asked", "cuda"),
    [
        (plan("12.9.1", "61"), "12.9"),
        (plan("11.8.0", "35"), "11.8"),
        (plan(None, "61"), "12.9"),
        (plan("12.9.1", "61", wanted="12.6"), "12.6"),
        (plan("12.4.1", "61"), "12.4"),
    ],
)
def test_the_newest_wheels_that_serve(asked: Plan, cuda: str) -> None:
    made = device_plan(asked, load())
    assert made is not None
    assert (made.cuda or "").startswith(cuda)
    assert made.toolkit_source == "wheels"
    assert "nvrtc" in made.packages[0]
    assert made.outcome == "warn"
    said = made.findings[-1]
    assert "no nvcc" in said.says
    assert all(
        way in str(said.steps) for way in ("source image", "source distro", "CUDA_HOME", "conda")
    )


@pytest.mark.parametrize(
    "asked", [plan("12.9.1", "999"), plan("11.8.0", "120"), plan("12.9.1", "61", wanted="10.2")]
)
def test_no_wheels_serve(asked: Plan) -> None:
    assert device_plan(asked, load()) is None
