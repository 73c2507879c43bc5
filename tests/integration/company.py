"""A company's network, made: mirrors behind logins and a CA of its own, a way out by a proxy alone.

What is served is real: the registry is one, and the package mirrors hand on what this machine's own
index and archive give. Each secret is a random word, so that wherever one stands it leaked.
"""

import base64
import contextlib
import http.server
import json
import os
import secrets
import select
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlsplit

import requests

Server = http.server.ThreadingHTTPServer


class Login(NamedTuple):
    """Name and password; what a URL must escape is in the password."""

    name: str
    password: str

    @property
    def basic(self) -> str:
        """As a Basic header spells it."""
        return base64.b64encode(":".join(self).encode()).decode()

    @property
    def url(self) -> str:
        """As an address spells it."""
        return ":".join(quote(part, safe="") for part in self)


def login(of: str) -> Login:
    """A new login, unlike any text in the world."""
    return Login(f"user-{of}-{secrets.token_hex(6)}", f"pw+{of}/{secrets.token_hex(8)}%")


class Company(NamedTuple):
    """The network as it stands.

    Attributes:
        secret: logins, by what they are for: mirror, registry, index, archive, proxy.
        mirror, registry: ``host:port`` of the registry of bases, and of one for images.
        pypi, archive: names that the proxy alone can resolve.
        proxy: address with its login.
        ca: the CA's file, in a folder of a name of its own.
        home: folder of the user: ``netrc``, ``docker/config.json``, ``bin`` with the helper.
        store: what the registry for images keeps.
        tunnels: hosts that the proxy was asked for.
        served: (host, path) that came to a mirror with the right login.
        helped: file in which the credential helper notes each call.
    """

    secret: Mapping[str, Login]
    mirror: str
    registry: str
    pypi: str
    archive: str
    proxy: str
    ca: Path
    home: Path
    store: Path
    tunnels: list[str]
    served: list[tuple[str, str]]
    helped: Path

    @property
    def net(self) -> dict[str, str]:
        """The environment of somebody who works here."""
        login = self.secret["archive"].url
        return {
            "ENVBUILD_REGISTRY_MIRROR": self.mirror,
            "ENVBUILD_APT_MIRROR": f"https://{login}@{self.archive}/debian",
            "ENVBUILD_INDEX_URL": f"https://{self.pypi}/simple/",
            "ENVBUILD_CA_CERT": str(self.ca),
            "ENVBUILD_NETWORK": "host",
            "HTTPS_PROXY": self.proxy,
            "NETRC": str(self.home / "netrc"),
            "DOCKER_CONFIG": str(self.home / "docker"),
            "HOME": str(self.home),
            "PATH": f"{self.home / 'bin'}:{os.environ['PATH']}",
        }

    @property
    def marks(self) -> dict[str, bytes]:
        """What must stand nowhere, by what it is; of a password what no address escapes."""
        found: dict[str, str] = {}
        for of, login in self.secret.items():
            found |= {f"{of} name": login.name, f"{of} password": login.password.split("/")[1][:-1]}
        for what, place in (("mirror", self.mirror), ("proxy", self.proxy.rpartition("@")[2])):
            found[f"{what} address"] = place.partition(":")[0]
        found |= {"index host": self.pypi, "archive host": self.archive}
        lines = self.ca.read_text().splitlines()
        found |= {"CA": lines[len(lines) // 2], "CA path": self.ca.parent.name}
        for what in ("-fingerprint", "-subject"):
            argv = ("openssl", "x509", "-in", str(self.ca), "-noout", "-sha256", what)
            said = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
            found[f"CA {what[1:]}"] = said.rpartition("=")[2].strip()
        colons = found["CA fingerprint"]
        found["CA fingerprint, plain"] = colons.replace(":", "").lower()
        return {name: text.encode() for name, text in found.items()}


class _Quiet(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def refuse(self, status: int, **headers: str) -> None:
        self.send_response(status)
        for name, text in {**headers, "Content_Length": "0"}.items():
            self.send_header(name.replace("_", "-"), text)
        self.end_headers()


def _mirror(
    upstream: Mapping[str, tuple[str, Login]], served: list[tuple[str, str]], ca: str | bool
) -> type:
    """A server that hands on what stands behind each of its names, to who may see it.

    A page of an index is changed: what it names elsewhere, this server has under ``/at/HOST/``.
    """
    kept: dict[str, tuple[int, str, bytes]] = {}

    class Mirror(_Quiet):
        def do_GET(self) -> None:
            host = self.headers.get("Host", "")
            if (
                host not in upstream
                or self.headers.get("Authorization") != f"Basic {upstream[host][1].basic}"
            ):
                self.refuse(401, WWW_Authenticate='Basic realm="company"')
                return
            served.append((host, self.path))
            if self.path not in kept:
                kept[self.path] = self.fetched(host)
            status, kind, body = kept[self.path]
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET

        def fetched(self, host: str) -> tuple[int, str, bytes]:
            path = self.path.lstrip("/")
            url = f"https://{path[3:]}" if path.startswith("at/") else upstream[host][0] + path
            headers = {name: self.headers[name] for name in ("Accept",) if name in self.headers}
            got = requests.get(url, headers=headers, verify=ca, timeout=60)
            kind, body = got.headers.get("Content-Type", ""), got.content
            if "html" in kind or "json" in kind:
                body = body.replace(b"https://", f"https://{host}/at/".encode())
            return got.status_code, kind, body

    return Mirror


def _proxy(login: Login, port: int, hosts: set[str], tunnels: list[str]) -> type:
    """A proxy that tunnels to the mirrors, by their names, for who has its login."""

    class Proxy(_Quiet):
        def do_CONNECT(self) -> None:
            host, _, number = self.path.partition(":")
            if self.headers.get("Proxy-Authorization") != f"Basic {login.basic}":
                self.refuse(407, Proxy_Authenticate='Basic realm="company"')
                return
            tunnels.append(host)
            if host not in hosts or number != "443":
                self.refuse(403)
                return
            self.send_response(200)
            self.end_headers()
            with socket.create_connection(("127.0.0.1", port)) as behind:
                ends = {self.connection: behind, behind: self.connection}
                with contextlib.suppress(OSError):
                    while all(
                        (data := end.recv(1 << 16)) and not ends[end].sendall(data)
                        for end in select.select([*ends], [], [])[0]
                    ):
                        pass
            self.close_connection = True

    return Proxy


@contextlib.contextmanager
def _running(
    handler: type, address: str, wrap: Callable[[Server], None] = lambda _: None
) -> Iterator[int]:
    server = Server((address, 0), handler)
    wrap(server)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextlib.contextmanager
def _registry(
    folder: Path, store: Path, address: str, login: Login, *, reads: bool
) -> Iterator[str]:
    """A real registry that wants a login; its ``host:port``."""
    with socket.socket() as free:
        free.bind((address, 0))
        place = f"{address}:{free.getsockname()[1]}"
    name = "mirror" if reads else "registry"
    # bcrypt is all that it reads, and perl is in every Debian.
    script = 'print crypt($ARGV[0], "\\$2y\\$05\\$" . "envbuildenvbuildenvbuO")'
    hashed = subprocess.run(
        ["perl", "-e", script, login.password], check=True, capture_output=True, text=True
    ).stdout
    (folder / f"{name}.htpasswd").write_text(f"{login.name}:{hashed}\n")
    storage: dict[str, object] = {"filesystem": {"rootdirectory": str(store)}}
    if reads:
        storage["maintenance"] = {"readonly": {"enabled": True}}
    config = {
        "version": "0.1",
        "storage": storage,
        "http": {"addr": place},
        "auth": {"htpasswd": {"realm": "company", "path": str(folder / f"{name}.htpasswd")}},
    }
    (folder / f"{name}.yml").write_text(json.dumps(config))
    with (folder / f"{name}.log").open("wb") as log:
        server = subprocess.Popen(
            ["docker-registry", "serve", str(folder / f"{name}.yml")], stdout=log, stderr=log
        )
    try:
        for _ in range(100):
            with contextlib.suppress(requests.ConnectionError):
                if requests.get(f"http://{place}/v2/", timeout=5).status_code == 401:
                    break
            threading.Event().wait(0.1)
        yield place
    finally:
        server.terminate()
        server.wait()


def _certificates(folder: Path, ca: Path, names: tuple[str, ...]) -> Path:
    """The CA, and the server's key and certificate in one file."""
    key, cert, both = folder / "ca.key", folder / "leaf.pem", folder / "both.pem"
    new = (
        "openssl",
        "req",
        "-x509",
        "-nodes",
        "-newkey",
        "ec",
        "-days",
        "2",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
    )
    organisation = f"/CN=ca-{secrets.token_hex(6)}"

    def run(*argv: str) -> None:
        subprocess.run([*new, *argv], check=True, capture_output=True)

    run("-keyout", str(key), "-out", str(ca), "-subj", organisation)
    alternatives = "subjectAltName=" + ",".join(f"DNS:{name}" for name in names)
    leaf = ("-CA", str(ca), "-CAkey", str(key), "-addext", "basicConstraints=critical,CA:FALSE")
    run(
        *leaf,
        "-addext",
        alternatives,
        "-subj",
        "/CN=mirror",
        "-keyout",
        str(both),
        "-out",
        str(cert),
    )
    both.write_bytes(both.read_bytes() + cert.read_bytes())
    return both


@contextlib.contextmanager
def company(
    folder: Path, store: Path, index: str, archive: str, trust: str | bool, plugin: Path
) -> Iterator[Company]:
    """Start all of it.

    Args:
        folder: new, for what it keeps; nothing of it is the product's.
        store: storage of a registry that has the bases; it is only read.
        index: address of the package index behind the mirror, ``.../simple/``.
        archive: address that holds ``debian/`` behind the mirror.
        trust: CA file for these two, True = those that are known.
        plugin: docker's buildx.
    """
    word = secrets.token_hex(6)
    names = (f"pip-{word}.test", f"apt-{word}.test")
    secret = {of: login(of) for of in ("mirror", "registry", "index", "archive", "proxy")}
    home, images, place = folder / "home", folder / "images", folder / f"pki-{secrets.token_hex(6)}"
    for one in (home / "docker/cli-plugins", home / "bin", images, place):
        one.mkdir(parents=True)
    ca = place / "ca.pem"
    both = _certificates(folder, ca, names)
    helped = folder / "helped"
    served: list[tuple[str, str]] = []
    tunnels: list[str] = []
    behind = {
        names[0]: (urlsplit(index)._replace(path="/").geturl(), secret["index"]),
        names[1]: (archive, secret["archive"]),
    }

    def tls(server: Server) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(both)
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )

    with contextlib.ExitStack() as stack:
        port = stack.enter_context(_running(_mirror(behind, served, trust), "127.0.0.1", tls))
        # Nothing in common: base64 is searched for without the last letters of an address.
        at_mirror, at_registry, out = (
            ".".join(["127", *(str(secrets.randbelow(200) + 20) for _ in range(3))])
            for _ in range(3)
        )
        way = stack.enter_context(_running(_proxy(secret["proxy"], port, set(names), tunnels), out))
        registries = [
            stack.enter_context(_registry(folder, at, address, secret[of], reads=of == "mirror"))
            for address, at, of in (
                (at_mirror, store, "mirror"),
                (at_registry, images, "registry"),
            )
        ]
        proxy = f"http://{secret['proxy'].url}@{out}:{way}"
        netrc = home / "netrc"
        netrc.write_text(
            f"machine {names[0]} login {secret['index'].name} password {secret['index'].password}\n"
        )
        netrc.chmod(0o600)
        config = {
            "auths": {registries[1]: {"auth": secret["registry"].basic}},
            "credHelpers": {registries[0]: "company"},
            # Docker gives it to build steps and to containers.
            "proxies": {"default": {"httpsProxy": proxy}},
        }
        (home / "docker/config.json").write_text(json.dumps(config))
        (home / "docker/cli-plugins/docker-buildx").symlink_to(plugin)
        answer = json.dumps(
            {"Username": secret["mirror"].name, "Secret": secret["mirror"].password}
        )
        helper = home / "bin/docker-credential-company"
        helper.write_text(
            f"#!/bin/sh\nread -r host\necho \"$1 $host\" >> {helped}\necho '{answer}'\n"
        )
        helper.chmod(0o700)
        yield Company(
            secret, registries[0], registries[1], names[0], names[1], proxy, ca, home, images,
            tunnels, served, helped,
        )  # fmt: skip
