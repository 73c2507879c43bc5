"""Servers that answer slowly, without end, or half: a real one on this machine for each."""

import gc
import gzip
import socket
import threading
import time

import pytest
from requests.exceptions import ReadTimeout

from envbuild.errors import MachineError
from envbuild.io import http
from envbuild.io.net import Net
from tests.io.conftest import OK, Answer, Serve


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


def _headers_for_ever(peer: socket.socket) -> None:
    peer.sendall(OK)
    _drip(peer, b"X")


def _redirects_for_ever(peer: socket.socket) -> None:
    time.sleep(0.05)
    peer.sendall(b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n")


@pytest.mark.parametrize("answer", [_headers_for_ever, _redirects_for_ever])
def test_headers_have_an_end(answer: Answer, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "HEADERS", 0.3)
    start = time.monotonic()
    with pytest.raises(MachineError, match="does not answer") as found:
        http.get(serve(answer), Net())
    assert "headers are not there after" in found.value.why
    assert time.monotonic() - start < 5


def test_an_answer_that_nobody_waits_for_is_closed(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "HEADERS", 0.2)
    given_up, closed = threading.Event(), threading.Event()

    def late(peer: socket.socket) -> None:
        given_up.wait(5)
        peer.sendall(OK + b"X\r\n\r\n")  # its reader logs what is wrong, and the log keeps it
        if not peer.recv(1):
            closed.set()

    url = serve(late)
    gc.disable()  # a collection would close it at some time, and warn
    try:
        with pytest.raises(MachineError, match="does not answer"):
            http.get(url, Net())
        given_up.set()
        assert closed.wait(5)
    finally:
        gc.enable()


def _chunk_without_length(peer: socket.socket) -> None:
    peer.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\n")
    _drip(peer, b"0")


def _packed_nothing(peer: socket.socket) -> None:
    peer.sendall(OK + b"Content-Encoding: gzip\r\nContent-Length: 1000000\r\n\r\n")
    peer.sendall(gzip.compress(b"")[:10])
    _drip(peer, b"\x00\x00\x00\xff\xff")


@pytest.mark.parametrize("answer", [_chunk_without_length, _packed_nothing])
@pytest.mark.parametrize("stream", [False, True])
def test_one_piece_has_an_end(
    answer: Answer, stream: bool, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "WINDOW", 0.3)
    start = time.monotonic()
    with pytest.raises((MachineError, ReadTimeout)) as found:
        list(http.pieces(http.get(serve(answer), Net(), stream=stream)))
    assert "seconds" in getattr(found.value, "why", str(found.value))
    assert time.monotonic() - start < 5


def test_a_body_that_is_kept_has_an_end(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "WHOLE", 0.2)
    with pytest.raises(MachineError, match="does not answer"):
        http.get(serve(_trickle), Net())


PAGE = b"<!DOCTYPE html><html><form>log in</form></html>"


@pytest.mark.parametrize("kind", [b"text/html; charset=utf-8", b"application/octet-stream"])
def test_a_login_page_is_no_answer(kind: bytes, serve: Serve) -> None:
    head = OK + b"Content-Type: %s\r\nContent-Length: %d\r\n\r\n" % (kind, len(PAGE))
    url = serve(lambda peer: peer.sendall(head + PAGE))
    with pytest.raises(MachineError, match="sent a web page for /x") as found:
        http.get(url, Net())
    assert found.value.exit_code == 4
    assert http.get(url, Net(), page=True).content == PAGE


def test_a_login_page_is_not_taken_for_a_file_that_is_streamed(serve: Serve) -> None:
    head = OK + b"Content-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(PAGE)
    with pytest.raises(MachineError, match="sent a web page"):
        http.get(serve(lambda peer: peer.sendall(head + PAGE)), Net(), stream=True)
