"""Plans for a machine without containers, by the real planner and matrices."""

from pathlib import Path

import pytest

from envbuild.engines.fit import local_plan
from envbuild.engines.local import LocalEngine
from envbuild.matrix.load import load
from envbuild.planner.plan import plan
from envbuild.planner.resolve import resolve
from envbuild.values.plan import Plan
from envbuild.values.request import Request
from tests.engines.test_local import make_toolkit


def planned(request: Request) -> Plan:
    made = plan(resolve(request, None, load()), load())
    assert isinstance(made, Plan)
    return made


@pytest.fixture
def engine(tmp_path: Path) -> LocalEngine:
    return LocalEngine(tmp_path / "prefix", progress=lambda _: None)


@pytest.fixture
def no_toolkit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envbuild.engines.toolkits.folders", list)


def test_a_toolkit_that_is_here_is_planned_with_its_own_version(
    engine: LocalEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_toolkit(tmp_path / "toolkit", cuda="13.0")
    monkeypatch.setattr("envbuild.engines.toolkits.folders", lambda: [folder])
    asked = planned(Request(cc=("9.0",), driver="580.65.06"))
    made = local_plan(engine, asked, load())
    assert (made.cuda or "").startswith("13.0")
    assert engine.toolkit_for(made) == folder
    assert str(folder) in made.findings[-1].says
    # What the user asked for is recorded as he asked for it.
    assert made.request == asked.request
    assert made.provenance == asked.provenance


@pytest.mark.usefixtures("no_toolkit")
@pytest.mark.parametrize(
    ("request_", "package"),
    [
        (Request(cc=("9.0",)), "cuda-toolkit[nvcc"),
        (Request(cc=("9.0",), toolkit_source="wheels"), "cuda-toolkit[nvcc"),
        (Request(cc=("6.1",)), "cuda-toolkit[nvrtc"),
        (Request(cc=("6.1",), toolkit_source="wheels"), "cuda-toolkit[nvrtc"),
    ],
)
def test_else_wheels(engine: LocalEngine, request_: Request, package: str) -> None:
    made = local_plan(engine, planned(request_), load())
    assert made.toolkit_source == "wheels"
    assert made.packages[0].startswith(package)
    assert made.request == request_


@pytest.mark.usefixtures("no_toolkit")
def test_a_source_that_needs_containers_stays_what_the_user_asked_for(engine: LocalEngine) -> None:
    asked = planned(Request(cc=("6.1",), toolkit_source="distro"))
    assert local_plan(engine, asked, load()) == asked


@pytest.mark.usefixtures("no_toolkit")
def test_the_driver_in_hand_still_decides(engine: LocalEngine) -> None:
    made = local_plan(engine, planned(Request(cc=("9.0",), driver="580.65.06")), load())
    assert (made.cuda or "").startswith("13.0")
