"""Servers that ask for time, redirect for ever, lie about TLS; proxies that are wrong or closed."""

import datetime as dt
import socket
import ssl
import threading
from email.utils import format_datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from envbuild.errors import EnvbuildError, InputError, MachineError
from envbuild.io import http, oci
from envbuild.io.net import Net
from tests.io.conftest import OK, Answer, Serve
from tests.io.registry import Registry, running

FINE = OK + b"Content-Length: 4\r\n\r\nfine"
NOW = dt.datetime.now(dt.timezone.utc)


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between tries."""
    found: list[float] = []
    monkeypatch.setattr("envbuild.io.http.time.sleep", found.append)
    return found


def sending(data: bytes) -> Answer:
    return lambda peer: peer.sendall(data)


def stumbling(serve: Serve, times: int, status: str, *headers: str) -> str:
    left = [times]
    head = "\r\n".join((f"HTTP/1.1 {status}", *headers, "Content-Length: 0", "", ""))

    def answer(peer: socket.socket) -> None:
        left[0] -= 1
        peer.sendall(head.encode() if left[0] >= 0 else FINE)

    return serve(answer)


@pytest.mark.parametrize(
    ("headers", "pause"),
    [
        ((), 1),
        (("Retry-After: 7",), 7),
        (("Retry-After: 0",), 1),
        (("Retry-After: 60",), 60),
        (("Retry-After: soon",), 1),
        (("Retry-After: -5",), 1),
        (("Retry-After: \u0661\u0662",), 1),
        (("Retry-After: Wed, 21 Oct 2015 07:28:00 GMT",), 1),
        # Years from now by our clock, nine seconds from now by the server's own.
        (("Date: Wed, 21 Oct 2065 07:28:00 GMT", "Retry-After: Wed, 21 Oct 2065 07:28:09 GMT"), 9),
        (("Date: never", "Retry-After: Wed, 21 Oct 2065 07:28:09 GMT"), 1),
    ],
)
@pytest.mark.parametrize("status", ["429 Too Many Requests", "503 Service Unavailable"])
def test_a_server_is_given_the_time_that_it_asks_for(
    status: str, headers: tuple[str, ...], pause: float, serve: Serve, slept: list[float]
) -> None:
    assert http.get(stumbling(serve, 1, status, *headers), Net()).content == b"fine"
    assert slept == [pause]


# A test's name may not hold the time: two workers that begin in two seconds would differ.
@pytest.mark.parametrize(
    "text",
    ["61", "999999999", format_datetime(NOW + dt.timedelta(days=1))],
    ids=["a little", "years", "tomorrow"],
)
def test_but_not_any_time(text: str, serve: Serve, slept: list[float]) -> None:
    url = stumbling(serve, 1, "429 Too Many Requests", f"Retry-After: {text}")
    with pytest.raises(MachineError, match="answered 429") as error:
        http.get(url, Net())
    assert "asks to be left alone for" in error.value.why
    assert slept == []


def test_all_pauses_have_an_end(serve: Serve, slept: list[float]) -> None:
    with pytest.raises(MachineError, match="answered 500"):
        http.get(stumbling(serve, 9, "500 Oops", "Retry-After: 50"), Net())
    assert slept == [50, 50]


def test_a_registry_that_stumbles_in_each_request_is_read(registry: Registry) -> None:
    """500, then 429, then what was asked for."""
    from tests.io.referring import ENVELOPE, attach, fetched

    attach(registry)
    seen: dict[str, int] = {}

    def fault(one: object) -> bool:
        path = getattr(one, "path", "")
        seen[path] = seen.get(path, 0) + 1
        if seen[path] < 3:
            one.answer((500, 429)[seen[path] - 1])  # type: ignore[attr-defined]
        return seen[path] < 3

    registry.fault = fault
    assert fetched(registry) == [ENVELOPE]
    assert min(seen.values()) == 3


def test_redirects_in_a_circle(serve: Serve) -> None:
    head = b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n"
    with pytest.raises(MachineError, match="redirects without end for /x"):
        http.get(serve(lambda peer: peer.sendall(head)), Net())


@pytest.mark.parametrize(
    "length", [b"Content-Length: 2\r\n", b"", b"Content-Length: 2\r\nConnection: close\r\n"]
)
def test_a_body_of_another_length_than_said_is_other_bytes(length: bytes, serve: Serve) -> None:
    url = serve(lambda peer: peer.sendall(OK + length + b"\r\n{}and more"))
    with running() as registry:
        digest = "sha256:" + "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8b"

        def away(one: object) -> bool:
            one.answer(307, Location=url)  # type: ignore[attr-defined]
            return True

        registry.fault = away
        place = oci.parse(f"{registry.host}/me/image:1")
        with pytest.raises(EnvbuildError, match="sent other bytes") as error:
            list(oci.blob(place, digest, Net()))
    assert error.value.exit_code == 7


def certificate(place: Path, begins: dt.datetime, ends: dt.datetime, name: str) -> ssl.SSLContext:
    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    made = (
        x509.CertificateBuilder()
        .subject_name(who)
        .issuer_name(who)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(begins)
        .not_valid_after(ends)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (place / "ca.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    text = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (place / "key.pem").write_bytes(text)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(place / "ca.pem", place / "key.pem")
    return context


DAY = dt.timedelta(days=1)


@pytest.mark.parametrize(
    ("begins", "ends", "name", "what", "fix"),
    [
        (NOW + DAY, NOW + 9 * DAY, "localhost", "not trusted", f"clock says {NOW:%Y-%m}"),
        (NOW - 9 * DAY, NOW - DAY, "localhost", "not trusted", "its certificate is over"),
        (NOW - DAY, NOW + DAY, "other.example", "of another name", "use the name"),
        (NOW - DAY, NOW + DAY, "localhost", "", ""),
    ],
)
def test_tls_that_is_not_in_order(
    begins: dt.datetime, ends: dt.datetime, name: str, what: str, fix: str,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("no_proxy", "localhost")
    context = certificate(tmp_path, begins, ends, name)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def one() -> None:
            try:
                with context.wrap_socket(listener.accept()[0], server_side=True) as peer:
                    peer.recv(65536)
                    peer.sendall(FINE)
            except OSError:
                pass  # the client hung up

        thread = threading.Thread(target=one)
        thread.start()
        url = f"https://localhost:{listener.getsockname()[1]}/x"
        net = Net(ca_cert=str(tmp_path / "ca.pem"))
        if not what:
            assert http.get(url, net).content == b"fine", "the control: one that is in order"
        else:
            with pytest.raises(MachineError, match=what) as error:
                http.get(url, net)
            assert fix in error.value.fix
        thread.join(5)


def test_no_tls_at_all(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    url = serve(lambda peer: peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"))
    with pytest.raises(MachineError, match="speaks no TLS"):
        http.get(url.replace("http:", "https:"), Net())


@pytest.fixture
def behind(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """No proxy yet, and none that is left out."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize(
    "proxy",
    [
        "http://me:s3cret@h:x", "http://me:s3cret@", "me:s3cret@127.0.0.1:1",
        "http://me:s3/cret@127.0.0.1:1", "http://me:12/s3cret@127.0.0.1", "http://me:s3#cret@h:1",
        "http://me:s3?cret@h:1", "http://me:s3cret@[::1", "ftp://me:s3cret@h:1",
        "http://me:s3cret@h:99999", "http://me:s3cret@\x1b[1mh:1", "http://me:s3cret@h 1",
        "//me:s3cret@h:1",
    ],
)  # fmt: skip
def test_an_address_of_a_proxy_that_is_none(
    proxy: str, scheme: str, behind: pytest.MonkeyPatch
) -> None:
    behind.setenv(f"{scheme}_proxy", proxy)
    with pytest.raises(InputError, match=f"proxy for a.example .{scheme}_proxy") as error:
        http.get(f"{scheme}://a.example/x", Net())
    assert "s3" not in str(error.value)
    assert "12/" not in str(error.value)


def test_a_proxy_is_blamed_for_its_own(
    behind: pytest.MonkeyPatch, serve: Serve, slept: list[float]
) -> None:
    behind.setenv("all_proxy", "http://me:s3cret@127.0.0.1:1")
    for scheme in ("http", "https"):
        with pytest.raises(MachineError, match=r"the proxy 127\.0\.0\.1:1 does not answer") as gone:
            http.get(f"{scheme}://a.example/x", Net())
        assert "a.example" in str(gone.value)
        assert "s3cret" not in str(gone.value)
    for status, says in (("407 Who", "wants a login"), ("403 No", "does not let us through")):
        head = f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode()
        host = serve(sending(head)).split("/")[2]
        behind.setenv("all_proxy", f"http://me:s3cret@{host}")
        with pytest.raises(MachineError, match=f"the proxy {host} {says}") as closed:
            http.get("https://a.example/x", Net())
        assert "s3cret" not in str(closed.value)
    assert slept == [], "none of it is asked again"
    host = serve(lambda peer: peer.sendall(FINE)).split("/")[2]
    behind.setenv("all_proxy", f"https://me:s3cret@{host}")
    with pytest.raises(MachineError, match="the proxy") as tls:
        http.get("https://a.example/x", Net())
    assert "it speaks no TLS" in tls.value.why


@pytest.mark.parametrize("proxy", ["http://{}", "{}", "http://me:p%40%2F%23@{}/"])
def test_a_proxy_in_every_spelling(proxy: str, behind: pytest.MonkeyPatch, serve: Serve) -> None:
    host = serve(lambda peer: peer.sendall(FINE)).split("/")[2]
    behind.setenv("http_proxy", proxy.format(host))
    assert http.get("http://a.example/x", Net()).content == b"fine"


@pytest.mark.parametrize(
    ("left_out", "direct"),
    [
        ("127.0.0.1", True), ("127.0.0.0/8", True), ("*", True), (" a.example , 127.0.0.1", True),
        ("127.0.0.1/99", False), ("a.example", False), (",,", False), ("::1/128", False),
        ("\x1b[1m", False), ("http://127.0.0.1", False),
    ],
)  # fmt: skip
def test_hosts_that_are_asked_without_the_proxy(
    left_out: str, direct: bool, behind: pytest.MonkeyPatch, serve: Serve
) -> None:
    behind.setenv("http_proxy", "http://me:s3cret@127.0.0.1:1")
    behind.setenv("no_proxy", left_out)
    url = serve(lambda peer: peer.sendall(FINE))
    if direct:
        assert http.get(url, Net()).content == b"fine"
    else:
        with pytest.raises(MachineError, match=r"the proxy 127\.0\.0\.1:1"):
            http.get(url, Net())


def test_a_socks_proxy_is_named(behind: pytest.MonkeyPatch) -> None:
    behind.setattr("envbuild.io.proxies._speaks_socks", lambda: False)
    behind.setenv("https_proxy", "socks5h://me:s3cret@127.0.0.1:1")
    with pytest.raises(MachineError, match="is a SOCKS proxy") as error:
        http.get("https://a.example/x", Net())
    assert "s3cret" not in str(error.value)
