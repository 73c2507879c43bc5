"""Which docker client builds, and what it is told.

The clients are made: scripts that answer as recorded from docker 20.10.24 (Debian 12), 28.2.2
without and 28.5.2 with buildx 0.29.1, 2026-12-01.
"""

import json
from pathlib import Path

import pytest

from envbuild.engines import buildkit
from envbuild.engines.docker import DockerEngine
from envbuild.engines.staging import Order, Staged
from envbuild.errors import MachineError
from envbuild.io.net import Net
from envbuild.values.host import EngineFacts
from envbuild.values.image import BuildContext, File

INFO = json.dumps({"ServerVersion": "20.10.24+dfsg1", "Runtimes": {"runc": {}}})
BUILDX = """\
case "$1 $2" in "buildx version") echo 'github.com/docker/buildx 0.29.1';;
esac
"""
OLD = """\
case "$1" in buildx) echo "docker: 'buildx' is not a docker command." >&2; exit 1;;
build) [ "$DOCKER_BUILDKIT" = 1 ] && echo '      --secret stringArray';; esac
"""
NEITHER = """\
case "$1" in buildx) echo 'docker: unknown command: docker buildx' >&2; exit 1;;
build) echo 'ERROR: BuildKit is enabled but the buildx component is missing or broken.' >&2; exit 1
;; esac
"""


def _client(folder: Path, body: str) -> Path:
    folder.mkdir()
    path = folder / "docker"
    path.write_text(f"#!/bin/sh\n[ \"$1\" = info ] && echo '{INFO}' && exit 0\n{body}")
    path.chmod(0o755)
    return path


@pytest.fixture
def clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    made = {
        name: _client(tmp_path / name, body)
        for name, body in (("neither", NEITHER), ("old", OLD), ("buildx", BUILDX))
    }
    # The machine's own client must not answer in their place.
    monkeypatch.setattr("envbuild.host.containers.docker_clis", lambda look: look.find("docker"))
    return made


def _path(monkeypatch: pytest.MonkeyPatch, *files: Path) -> None:
    monkeypatch.setenv("PATH", ":".join(str(f.parent) for f in files))


def test_a_client_that_cannot_build_is_passed_over(
    clients: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    _path(monkeypatch, clients["neither"], clients["old"])
    assert DockerEngine().probe().cli == str(clients["old"])
    _path(monkeypatch, clients["neither"], clients["old"], clients["buildx"])
    assert DockerEngine().probe().cli == str(clients["buildx"])


def test_no_client_that_reaches_buildkit_is_one_clear_error(
    clients: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    _path(monkeypatch, clients["neither"])
    facts = DockerEngine().probe()
    assert facts.answers
    assert facts.buildkit is None
    context = BuildContext(files=(File(path="Dockerfile", data=b""),), platform="")
    with pytest.raises(MachineError, match="no docker client here can reach BuildKit") as caught:
        DockerEngine().build(context, "t", Net())
    assert caught.value.exit_code == 4
    assert str(clients["neither"]) in caught.value.why


def test_a_dry_run_prints_the_command_of_each_client(
    clients: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    context = BuildContext(
        files=(File(path="Dockerfile", data=b"FROM scratch\n"),), platform="linux/amd64"
    )
    _path(monkeypatch, clients["old"])
    old = DockerEngine().build_steps(context, "a/b", Net(network="host"), "runtime")[-1].argv
    assert old[:4] == ("env", "DOCKER_BUILDKIT=1", str(clients["old"]), "build")
    assert old[-1] == ".envbuild/private/context"
    _path(monkeypatch, clients["buildx"])
    new = DockerEngine().build_steps(context, "a/b", Net(network="host"), "runtime")[-1].argv
    # An attestation would make an index of the image, and no flag is known to every buildx.
    assert new[:2] == ("env", "BUILDX_NO_DEFAULT_ATTESTATIONS=1")
    assert new[2:7] == (str(clients["buildx"]), "buildx", "build", "--builder", "default")
    for argv in (old, new):
        text = " ".join(argv)
        assert "--tag a/b --platform linux/amd64 --network host --target runtime" in text
        assert "--progress plain" in text


@pytest.mark.parametrize("kind", ["buildx", "DOCKER_BUILDKIT"])
def test_secrets_are_given_by_file_never_by_value(kind: str) -> None:
    staged = Staged(Path("/w/context"), Path("/w/Dockerfile"), (("ca", Path("/w/secrets/ca")),))
    client = EngineFacts(name="docker", cli="docker", buildkit=kind)
    argv = buildkit.command(client, staged, Path("/w"), Order("t"))
    assert argv[argv.index("--secret") + 1] == "id=ca,src=/w/secrets/ca"
    assert argv[argv.index("--file") + 1] == "/w/Dockerfile"
    assert "--build-arg" not in argv


def test_the_build_reaches_the_daemon_that_the_api_reaches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUILDX_BUILDER", "remote")
    monkeypatch.setenv("DOCKER_CONTEXT", "other")
    client = EngineFacts(name="docker", cli="docker", buildkit="DOCKER_BUILDKIT")
    env = buildkit.environment(client, "unix:///x.sock")
    assert env["DOCKER_HOST"] == "unix:///x.sock"
    assert env["DOCKER_BUILDKIT"] == "1"
    assert "BUILDX_BUILDER" not in env
    assert "DOCKER_CONTEXT" not in env


def test_the_daemon_is_the_one_that_the_client_speaks_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.delenv("DOCKER_CONTEXT", raising=False)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    cli = str(_client(tmp_path / "c", '[ "$1" = context ] && echo unix:///desktop.sock\n'))
    assert buildkit.endpoint(cli) == "unix:///var/run/docker.sock"
    (tmp_path / "config.json").write_text('{"currentContext": "desktop"}')
    assert buildkit.endpoint(cli) == "unix:///desktop.sock"
    (tmp_path / "config.json").write_text("nonsense")
    assert buildkit.endpoint(cli) == "unix:///var/run/docker.sock"
    monkeypatch.setenv("DOCKER_HOST", "tcp://h:1")
    assert buildkit.endpoint(cli) == "tcp://h:1"
