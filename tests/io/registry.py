"""A registry on this machine, made: it does what the distribution specification 1.1 says it should.

Each test changes what it does wrong. What real ones do is in ``tests/integration/test_attach.py``.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from tests.lock.server import sha

INDEX = "application/vnd.oci.image.index.v1+json"
NAME = "me/image"
ROOT = f"/v2/{NAME}/"


class Registry:
    """One repository; ``asked`` are the requests so far.

    Attributes:
        api: it has the referrers API.
        page: entries of one of its pages.
        location: what it says where to upload to; ``{host}`` and ``{id}`` are filled in.
        login: the Authorization header without which it is 401; ``challenge`` goes with that.
        fault: sees each request first; True = it has answered.
    """

    def __init__(self, host: str) -> None:
        self.host = host
        self.blobs: dict[str, bytes] = {}
        self.manifests: dict[str, tuple[str, bytes]] = {}
        self.asked: list[tuple[str, str]] = []
        self.logins: list[str | None] = []
        self.api, self.page = False, 100
        self.location = ROOT + "blobs/uploads/{id}?_state=s3cret"
        self.login, self.challenge = "", ""
        self.fault: Callable[[Handler], bool] = lambda _: False

    def count(self, method: str, part: str = "") -> int:
        """How often something was asked for."""
        return sum(m == method and part in path for m, path in self.asked)

    def put(self, name: str, document: object, kind: str = INDEX) -> bytes:
        """Serve a document as a manifest of a tag or digest."""
        data = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.manifests[name] = (kind, data)
        return data

    def referrers(self, digest: str) -> list[dict[str, object]]:
        """What the API lists."""
        found: list[dict[str, object]] = []
        for name, (kind, data) in self.manifests.items():
            document = json.loads(data)
            if name.startswith("sha256:") and document.get("subject", {}).get("digest") == digest:
                entry = {"mediaType": kind, "digest": name, "size": len(data)}
                found.append(entry | {k: document[k] for k in ("artifactType", "annotations")})
        return found


class Handler(BaseHTTPRequestHandler):
    """Answers of a `Registry`."""

    registry: Registry

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, text in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(name.replace("_", "-"), text)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def do_GET(self) -> None:
        self._handle()

    do_HEAD = do_POST = do_PUT = do_GET

    def _handle(self) -> None:
        mine = self.registry
        mine.asked.append((self.command, self.path))
        mine.logins.append(self.headers.get("Authorization"))
        if mine.fault(self):
            return
        parts = urlsplit(self.path)
        if mine.login and mine.logins[-1] != mine.login and parts.path.startswith("/v2/"):
            self.body()
            self.answer(401, WWW_Authenticate=mine.challenge)
            return
        kind, _, name = parts.path.removeprefix(ROOT).partition("/")
        if self.command in {"GET", "HEAD"}:
            self._read(kind, name, parse_qs(parts.query))
        elif self.command == "POST":
            self.answer(202, Location=mine.location.format(host=mine.host, id="u1"))
        elif kind == "blobs":
            data, digest = self.body(), parse_qs(parts.query)["digest"][0]
            mine.blobs[digest] = data
            self.answer(201 if sha(data) == digest else 400, Docker_Content_Digest=digest)
        else:
            self._store(name)

    def _read(self, kind: str, name: str, query: dict[str, list[str]]) -> None:
        mine = self.registry
        if kind == "blobs" and name in mine.blobs:
            self.answer(200, mine.blobs[name])
        elif kind == "manifests" and name in mine.manifests:
            media, data = mine.manifests[name]
            self.answer(200, data, Content_Type=media)
        elif kind == "referrers" and mine.api:
            start = int(query.get("last", ["0"])[0])
            found = mine.referrers(name)
            more = {}
            if start + mine.page < len(found):
                more = {"Link": f'<{ROOT}referrers/{name}?last={start + mine.page}>; rel="next"'}
            page = {"mediaType": INDEX, "manifests": found[start : start + mine.page]}
            self.answer(200, json.dumps(page).encode(), Content_Type=INDEX, **more)
        else:
            self.answer(404)

    def _store(self, name: str) -> None:
        data = self.body()
        self.registry.manifests[name] = (self.headers["Content-Type"], data)
        subject = json.loads(data).get("subject")
        more = {"OCI_Subject": subject["digest"]} if subject and self.registry.api else {}
        self.answer(201, Docker_Content_Digest=sha(data), **more)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def running() -> Iterator[Registry]:
    """Start one on a free port; it ends with the block."""
    handler = type("Own", (Handler,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    handler.registry = Registry(f"127.0.0.1:{server.server_address[1]}")  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield handler.registry  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
