"""`envbuild lock` and `envbuild render` as people call them: files, exit codes, streams."""

import json
from pathlib import Path

import pytest

from envbuild.cli import app
from envbuild.values.codec import dump, replace
from tests.lock.server import Server, layer, push
from tests.render import plans


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Server) -> Path:
    """A folder with a plan, and a mirror that has its bases."""
    push(server, "nvidia/cuda", "12.4.1-devel-ubuntu22.04", layer({"a": b"1"}))
    push(server, "library/ubuntu", "22.04", layer({"b": b"1"}))
    monkeypatch.setenv("ENVBUILD_REGISTRY_MIRROR", server.host)
    folder = tmp_path / "desk"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "plan.json").write_bytes(dump(plans.IMAGE))
    return folder


def test_lock_then_check_then_render(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["lock", "plan.json"]) == 0
    assert "docker.io/nvidia/cuda:12.4.1-devel-ubuntu22.04@sha256:" in capsys.readouterr().out
    assert app.run(["lock", "plan.json", "--check"]) == 0
    assert app.run(["render", "plan.json", "-o", "out"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert "out/Dockerfile" in shown
    assert (desk / "out/envbuild.lock").read_bytes() == (desk / "envbuild.lock").read_bytes()


def test_a_context_folder_is_a_source(desk: Path) -> None:
    assert app.run(["lock", "plan.json"]) == 0
    assert app.run(["render", "plan.json", "-o", "out"]) == 0
    (desk / "envbuild.lock").unlink()
    assert app.run(["render", "out", "-o", "again"]) == 0
    assert (desk / "again/Dockerfile").read_bytes() == (desk / "out/Dockerfile").read_bytes()


def test_json(desk: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert app.run(["lock", "plan.json", "--json"]) == 0
    assert json.loads(capsysbinary.readouterr().out)["schema"] == "envbuild/lock/1"
    assert app.run(["render", "plan.json", "--json", "-o", "out"]) == 0
    assert json.loads(capsysbinary.readouterr().out)["digest"].startswith("sha256:")


def test_check_of_another_plan_is_exit_7_and_asks_nobody(
    desk: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run(["lock", "plan.json"]) == 0
    server.asked.clear()
    (desk / "plan.json").write_bytes(dump(replace(plans.IMAGE, cc=("8.9",))))
    assert app.run(["lock", "plan.json", "--check"]) == 7
    assert app.run(["render", "plan.json", "-o", "out"]) == 7
    assert "another plan" in capsys.readouterr().err
    assert server.asked == []
    assert not (desk / "out").exists()


def test_a_registry_that_lacks_it_is_exit_4_and_keeps_the_old_lock(
    desk: Path, server: Server
) -> None:
    assert app.run(["lock", "plan.json"]) == 0
    before = (desk / "envbuild.lock").read_bytes()
    server.answers.clear()
    assert app.run(["lock", "plan.json"]) == 4
    assert (desk / "envbuild.lock").read_bytes() == before


def test_a_registry_that_lies_is_exit_7(desk: Path, server: Server) -> None:
    path = next(p for p in server.answers if p.startswith("/v2/library/ubuntu/blobs/"))
    for other in list(server.answers):
        if other.startswith(path.rpartition("/")[0]):
            server.put(other, b"{}")
    assert app.run(["lock", "plan.json"]) == 7
    assert not (desk / "envbuild.lock").exists()


def test_render_without_a_lock_must_be_wanted(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run(["render", "plan.json", "-o", "out"]) == 2
    assert "--no-lock" in capsys.readouterr().err
    assert app.run(["render", "plan.json", "-o", "out", "--no-lock"]) == 0
    (desk / "plan.json").write_bytes(dump(plans.REDIST))
    assert app.run(["render", "plan.json", "-o", "other"]) == 2
    assert "do    envbuild lock makes it\n" in capsys.readouterr().err
    assert app.run(["render", "plan.json", "-o", "other", "--no-lock"]) == 2
    assert "from a lock alone" in capsys.readouterr().err


def test_render_keeps_a_strangers_folder(desk: Path) -> None:
    (desk / "out").mkdir()
    (desk / "out/mine.txt").write_text("x")
    assert app.run(["render", "plan.json", "-o", "out", "--no-lock"]) == 2
    assert [p.name for p in (desk / "out").iterdir()] == ["mine.txt"]


def test_a_later_source_is_exit_3(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (desk / "plan.json").write_bytes(dump(replace(plans.IMAGE, toolkit_source="runfile")))
    assert app.run(["lock", "plan.json"]) == 3
    assert "image, wheels, distro" in capsys.readouterr().err


def test_an_engine_nobody_knows_is_exit_2(desk: Path) -> None:
    assert app.run(["lock", "plan.json", "--engine", "rkt"]) == 2
