"""A made registry, reached with no settings of this machine's and without waiting."""

import contextlib
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.io.registry import Registry, running

Answer = Callable[[socket.socket], None]
Serve = Callable[[Answer], str]
OK = b"HTTP/1.1 200 OK\r\n"


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("envbuild.io.http.time.sleep", lambda _: None)
    with running() as registry:
        yield registry


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts a server whose one answer is written by a function; its address."""
    sockets: list[socket.socket] = []

    def start(answer: Answer) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        sockets.append(listener)

        def loop() -> None:
            while True:
                try:
                    peer, _ = listener.accept()
                except OSError:
                    return
                sockets.append(peer)
                with peer:
                    peer.recv(65536)
                    try:
                        answer(peer)
                    except OSError:  # the client gave up
                        continue

        threading.Thread(target=loop, daemon=True).start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}/x"

    yield start
    for one in sockets:
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()
