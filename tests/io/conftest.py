"""A made registry, reached with no settings of this machine's and without waiting."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.io.registry import Registry, running


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("envbuild.io.http.time.sleep", lambda _: None)
    with running() as registry:
        yield registry
