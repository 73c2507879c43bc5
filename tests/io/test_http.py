"""Servers that answer slowly, without end, or half: a real one on this machine for each."""

import contextlib
import gzip
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from envbuild.errors import MachineError
from envbuild.io import http
from envbuild.io.net import Net

Answer = Callable[[socket.socket], None]
Serve = Callable[[Answer], str]
OK = b"HTTP/1.1 200 OK\r\n"


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


def _drip(peer: socket.socket, piece: bytes) -> None:
    while True:
        peer.sendall(piece)
        time.sleep(0.02)


def _trickle(peer: socket.socket) -> None:
    peer.sendall(OK + b"Content-Length: 1000000\r\n\r\n")
    _drip(peer, b"x")


def _chunks(peer: socket.socket) -> None:
    peer.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\n")
    _drip(peer, b"1\r\nx\r\n")


@pytest.mark.parametrize("answer", [_trickle, _chunks])
def test_a_server_that_trickles_is_given_up(
    answer: Answer, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "WINDOW", 0.3)
    with pytest.raises(MachineError, match="does not answer") as found:
        http.get(serve(answer), Net())
    assert "seconds" in found.value.why


def test_a_server_that_sends_enough_is_waited_for(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "WINDOW", 0.1)
    monkeypatch.setattr(http, "LEAST", 100)

    def steady(peer: socket.socket) -> None:
        peer.sendall(OK + b"Content-Length: 20000\r\n\r\n")
        for _ in range(20):
            peer.sendall(b"x" * 1000)
            time.sleep(0.02)

    assert http.get(serve(steady), Net()).content == b"x" * 20000


def test_an_answer_without_end_is_not_kept(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "LARGEST", 1 << 20)

    def flood(peer: socket.socket) -> None:
        peer.sendall(OK + b"\r\n")
        while True:
            peer.sendall(bytes(1 << 16))

    with pytest.raises(MachineError, match="longer than 1 MiB"):
        http.get(serve(flood), Net())


@pytest.mark.parametrize(
    "answer",
    [
        OK + b"Content-Length: 10\r\n\r\nhalf",
        OK + b"Transfer-Encoding: chunked\r\n\r\na\r\nhalf",
        OK + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nhalf",
    ],
)
def test_half_an_answer_is_none(
    answer: bytes, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    with pytest.raises(MachineError):
        http.get(serve(lambda peer: peer.sendall(answer)), Net())


def test_a_packed_body_is_unpacked(serve: Serve) -> None:
    body = gzip.compress(b"text" * 1000)
    head = OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body)
    url = serve(lambda peer: peer.sendall(head + body))
    assert http.get(url, Net()).text == "text" * 1000
    packed = http.pieces(http.get(url, Net(), stream=True), size=100)
    assert b"".join(packed) == b"text" * 1000
