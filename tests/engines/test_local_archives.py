"""The local engine makes a toolkit folder of redist archives and conda packages, without root."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from envbuild.engines.local import LocalEngine
from envbuild.errors import InputError, MachineError, StaleError
from envbuild.io.net import Net
from envbuild.lock.make import lock
from envbuild.render.context import render
from envbuild.values.codec import digest, replace
from envbuild.values.image import BuildContext
from envbuild.values.plan import Plan
from tests.lock import serving, vendor
from tests.render import plans

# Made: as much of nvcc as the engine asks of it.
NVCC = b"""#!/bin/sh
case $1 in
    --list-gpu-code) echo sm_61 ;;
    *) echo "release 12.4, V12.4.131" ;;
esac
"""


class Desk(NamedTuple):
    """The served folder, the plan, its context, an engine, what it said, and the way there."""

    served: Path
    plan: Plan
    context: BuildContext
    engine: LocalEngine
    said: list[str]
    net: Net

    def build(self, net: Net | None = None) -> Path:
        return Path(self.engine.build(self.context, "x", net or self.net).ref)


@pytest.fixture(params=["redist", "conda"])
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    if request.param == "conda":
        pytest.importorskip("rattler")
    served = tmp_path / "served"
    files = vendor.tiny() | {"bin/nvcc": NVCC}
    make = vendor.redist if request.param == "redist" else vendor.conda
    make(served, files)
    plan = plans.REDIST if request.param == "redist" else plans.CONDA
    wish = replace(plan.request, toolkit_source=request.param)
    plan = replace(plan, cuda="12.4.1", request=wish)
    said: list[str] = []
    engine = LocalEngine(root=tmp_path / "prefix", progress=said.append)
    with serving.served(served) as mirror:
        net = Net(toolkit_mirror=mirror)
        context = render(plan, lock(plan, net, engine))
        yield Desk(served, plan, context, engine, said, net)


def test_a_toolkit_without_root_and_without_an_image(desk: Desk) -> None:
    folder = desk.build()
    image = desk.engine.inspect(str(folder))
    assert image is not None
    assert dict(image.labels)["envbuild.compiler"] == "nvcc"
    assert (folder / "cuda/lib64/libcudart.so").read_bytes() == b"cudart"
    assert (folder / "cuda/licenses").is_dir()
    if desk.plan.toolkit_source == "conda":
        pc = folder / "cuda/lib/pkgconfig/cudart-12.4.pc"
        assert pc.read_text() == f"cudaroot={folder}/cuda\n"


def test_the_second_time_nothing_is_fetched_and_a_change_is_mended(desk: Desk) -> None:
    folder = desk.build()
    before = desk.engine.inspect(str(folder))
    desk.said.clear()
    offline = Net(offline=True)
    assert desk.build(offline) == folder
    assert desk.said == []
    (folder / "cuda/bin/nvcc").write_bytes(b"other")
    with pytest.raises(StaleError, match="bin/nvcc was changed"):
        desk.engine.inspect(str(folder))
    assert desk.build(offline) == folder
    assert desk.engine.inspect(str(folder)) == before


def test_other_bytes_are_refused_and_leave_no_prefix(desk: Desk) -> None:
    archive = next(p for p in sorted(desk.served.rglob("*nvcc*")) if p.is_file())
    archive.write_bytes(archive.read_bytes()[:-7])
    with pytest.raises(StaleError, match="does not have the hash of the lock") as error:
        desk.build()
    assert error.value.exit_code == 7
    kept = [p.name for p in (desk.engine.root / "archives").iterdir()]
    assert archive.name not in kept
    assert not any(name.startswith(".") for name in kept)
    assert list(desk.engine.root.glob("*/cuda")) == []


@pytest.mark.parametrize("desk", ["conda"], indirect=True)
def test_without_zstd_nothing_is_fetched(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    which = shutil.which
    monkeypatch.setattr("shutil.which", lambda name: None if name == "zstd" else which(name))
    with pytest.raises(MachineError, match="the program zstd, which is not here"):
        desk.build()
    assert not any(line.startswith("fetch") for line in desk.said)


def test_what_came_is_kept_for_the_next_run(desk: Desk) -> None:
    archive = max(p for p in desk.served.rglob("*.*") if p.suffix in {".xz", ".conda"})
    data = archive.read_bytes()
    archive.unlink()
    with pytest.raises(MachineError, match="404"):
        desk.build()
    archive.write_bytes(data)
    first = len(desk.said)
    desk.build()
    assert 0 < sum(line.startswith("fetch") for line in desk.said[first:]) < first


def test_a_dry_run_says_what_would_be_fetched_and_does_nothing(desk: Desk) -> None:
    fetch, unpack = desk.engine.build_steps(desk.context, "x", desk.net)
    assert "nvcc" in fetch.text
    assert "bin/nvcc --version" in str(unpack.check)
    assert not desk.engine.root.exists()


def test_a_lock_of_another_machine_is_refused(desk: Desk) -> None:
    plan = replace(desk.plan, arch="aarch64")
    made = lock(desk.plan, desk.net, desk.engine)
    other = render(plan, replace(made, platform="linux/arm64", plan=digest(plan)))
    with pytest.raises(InputError, match="the lock is for linux/arm64"):
        desk.engine.build(other, "x", desk.net)
