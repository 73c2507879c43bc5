"""Which engine is used, and why. The engines on PATH are made: scripts that answer or do not."""

from pathlib import Path

import pytest

from envbuild.engines import find
from envbuild.errors import InputError, MachineError

DOCKER = """\
case "$1" in info) echo '{"ServerVersion": "28.5.2"}';;
build) echo --secret;; buildx) exit 1;; esac
"""
DEAD = """\
[ "$1" = info ] && echo '{"ServerErrors": ["Cannot connect to the Docker daemon"]}'; exit 1
"""


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("envbuild.host.containers.docker_clis", lambda look: look.find("docker"))
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin-of-nothing")
    return tmp_path


def _make(path: Path, name: str, body: str) -> None:
    (path / name).write_text(f"#!/bin/sh\n{body}")
    (path / name).chmod(0o755)


def test_the_first_that_answers_is_taken(path: Path) -> None:
    _make(path, "docker", DOCKER)
    found = find.find(need_build=True)
    assert found.engine.name == "docker"
    assert found.why == "docker 28.5.2 (the first that answers)"


def test_a_dead_daemon_is_passed_over_and_said(path: Path) -> None:
    _make(path, "docker", DEAD)
    _make(path, "podman", "echo 'podman version 4.3.1'\n")
    found = find.find()
    assert found.engine.name == "podman"
    assert "docker: Cannot connect to the Docker daemon" in found.why


def test_without_any_engine_this_machine_is_one(path: Path) -> None:
    found = find.find(need_build=True)
    assert found.engine.name == "local"
    assert "no docker client" in found.why
    assert "no podman" in found.why


def test_a_docker_without_buildkit_runs_and_does_not_build(path: Path) -> None:
    _make(path, "docker", DOCKER.replace("echo --secret", "exit 1"))
    assert find.find().engine.name == "docker"
    found = find.find(need_build=True)
    assert found.engine.name == "local"
    assert "BuildKit" in found.why


def test_a_named_engine_is_never_replaced(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _make(path, "docker", DEAD)
    with pytest.raises(MachineError, match="no engine can run here") as caught:
        find.find("docker")
    assert caught.value.exit_code == 4
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent")
    with pytest.raises(MachineError, match="no engine"):
        find.find()
    with pytest.raises(InputError, match="no engine 'dokcer'"):
        find.find("dokcer")


@pytest.mark.parametrize("name", [None, "docker", "apptainer"])
@pytest.mark.parametrize("ref", ["x.sif", "./x.sif", "/srv/x.sif", "a/b.sif", "no.tar", "./no.tar"])
def test_a_file_that_no_engine_takes_is_no_name_for_a_registry(
    ref: str, name: str | None, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(path)
    (path / "a").mkdir()
    (path / "a/b.sif").touch()
    with pytest.raises(InputError, match=r"SIF file|no archive") as e:
        find.holding(ref, name)
    assert "envbuild build -o" in e.value.fix


@pytest.mark.parametrize("ref", ["r.example/team/x.sif:1", "r.example/x.tar", "x.sif:1"])
def test_an_image_may_be_called_like_a_file(ref: str, path: Path) -> None:
    _make(path, "docker", DOCKER + 'echo "Error: No such image" >&2; exit 1\n')
    assert find.holding(ref, "docker").engine.name == "docker"
