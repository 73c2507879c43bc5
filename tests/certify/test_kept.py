"""`up` takes a certificate again only where everything that it depends on is the same."""

from pathlib import Path
from typing import Any

import pytest

import envbuild.up
from envbuild.certify import run
from envbuild.io.workspace import Workspace
from envbuild.matrix.load import load
from envbuild.values.certificate import Certificate
from envbuild.values.codec import replace
from envbuild.values.host import Driver, Host
from envbuild.values.image import Image
from envbuild.values.plan import MatrixId, Plan
from tests.certify import here
from tests.certify.samples import seen

PLAN = Plan(outcome="ok", cc=("9.0",), promise=("90",), matrix=MatrixId(date="", digest=""))


class Corridor:
    """The end of `up` on a made image; ``runs`` counts what was really certified."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.space = Workspace(folder)
        self.engine = here.HereEngine(Path("/nowhere"))
        self.runs = 0
        monkeypatch.setattr(run, "certify", self._certify)

    def _certify(self, engine: object, image: Image, *, plan: Plan, **_: Any) -> Certificate:  # noqa: ANN401
        del engine, image
        self.runs += 1
        made = run.state(seen("toolchain"), ("toolchain",))
        return replace(made, cc=plan.cc)

    def __call__(self, plan: Plan = PLAN, image: Image | None = None) -> Certificate:
        return envbuild.up.certified(
            self.space,
            self.engine,  # type: ignore[arg-type]
            image or here.image(),
            plan=plan,
            lock=None,
            suites=("toolchain",),
            say=lambda _: None,
        )


@pytest.fixture
def corridor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Corridor:
    monkeypatch.setattr(envbuild.up, "this_machine", lambda: here.NO_GPU)
    return Corridor(tmp_path, monkeypatch)


def test_nothing_changed(corridor: Corridor) -> None:
    assert corridor() == corridor()
    assert corridor.runs == 1


def test_another_plan_for_the_same_files_is_certified_anew(corridor: Corridor) -> None:
    """One toolkit folder serves many plans: the second got the certificate of the first."""
    corridor()
    other = replace(PLAN, cc=("8.6",), promise=("86",))
    assert corridor(other).cc == ("8.6",)
    assert corridor.runs == 2


@pytest.mark.parametrize("change", ["image", "driver", "engine", "tool", "matrix", "file"])
def test_what_else_makes_it_stale(
    change: str, corridor: Corridor, monkeypatch: pytest.MonkeyPatch
) -> None:
    corridor()
    image = here.image()
    if change == "image":
        image = replace(image, config="sha256:" + "c" * 64)
    elif change == "driver":
        host = Host(driver=Driver(version="590.1"))
        monkeypatch.setattr(envbuild.up, "this_machine", lambda: host)
    elif change == "engine":
        corridor.engine.name = "podman"
    elif change == "tool":
        monkeypatch.setattr(envbuild.up, "__version__", "99")
    elif change == "matrix":
        real = load()
        monkeypatch.setattr("envbuild.up.load", lambda: replace(real, digest="sha256:1"))
    else:
        path = corridor.space.path("certificate.json")
        path.write_bytes(path.read_bytes().replace(b'"cc": [', b'"cc": [ "8.6",', 1))
    corridor(image=image)
    assert corridor.runs == 2
