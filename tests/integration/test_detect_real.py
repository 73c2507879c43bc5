"""`detect` before real engines: docker 20.10 and the newest one, whose CDI folder we fill."""

import json
import os
import uuid
from pathlib import Path

import pytest

from envbuild.host.detect import detect
from envbuild.values.host import EngineFacts

pytestmark = pytest.mark.engine


def dockers(**environ: str) -> tuple[EngineFacts, ...]:
    # This machine is busy while tests run: two seconds are for people who wait.
    host = detect(environ=os.environ | {"ENVBUILD_PROBE_TIMEOUT": "60"} | environ)
    return tuple(e for e in host.engines if e.name == "docker")


def test_old_docker_builds_without_buildx() -> None:
    cli = os.environ.get("ENVBUILD_TEST_DOCKER")
    if not cli:
        pytest.skip("script/test-services up, then . its env file")
    facts = next(e for e in dockers() if e.cli and Path(e.cli).resolve() == Path(cli).resolve())
    assert (facts.answers, facts.buildkit, facts.rootless) == (True, "DOCKER_BUILDKIT", False)


def test_server_that_is_not_there() -> None:
    for facts in dockers(DOCKER_HOST="unix:///nonexistent/docker.sock"):
        assert not facts.answers
        assert "/nonexistent/docker.sock" in facts.says


def test_newest_docker_with_a_cdi_device() -> None:
    address, folder = (os.environ.get(f"ENVBUILD_TEST_NEWEST{x}") for x in ("", "_CDI"))
    if not address or not folder:
        pytest.skip("script/newest-engine up, then . its env file")
    path = f"{os.environ['ENVBUILD_TEST_NEWEST_BIN']}:{os.environ['PATH']}"
    # Made: the null device under the name that the vendor's specification gives.
    edits = {
        "env": ["MADE=1"],
        "deviceNodes": [{"path": "/dev/nvidia-made", "hostPath": "/dev/null"}],
    }
    devices = [{"name": f"made-{uuid.uuid4().hex}", "containerEdits": edits}]
    spec = {"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": devices}
    file = Path(folder) / f"detect-{uuid.uuid4().hex}.json"
    file.write_text(json.dumps(spec))
    try:
        first = dockers(DOCKER_HOST=address, PATH=path)[0]
    finally:
        file.unlink()
    assert (first.answers, first.buildkit, first.access) == (True, "buildx", ("cdi",))
