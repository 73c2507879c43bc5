"""An HTTP server on this machine with made answers: what it serves is written in each test."""

import gzip
import hashlib
import io
import json
import tarfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import unquote

OCI = "application/vnd.oci.image"


class Answer(NamedTuple):
    """One answer; ``needs`` is the Authorization header without which it is 401."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = {}
    needs: str | None = None


class Server(NamedTuple):
    """A running server: its address, what it answers by path, and what it was asked."""

    host: str
    answers: dict[str, Answer]
    asked: list[tuple[str, str | None]]

    def put(self, path: str, body: bytes | object, kind: str = "", **fields: object) -> None:
        """Answer a path with bytes, or with a value as JSON."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Content-Type": kind} if kind else {}
        self.answers[path] = Answer(data, headers=headers)._replace(**fields)  # type: ignore[arg-type]


@contextmanager
def serve() -> Iterator[Server]:
    """Start a server on a free port; it ends with the block."""
    answers: dict[str, Answer] = {}
    asked: list[tuple[str, str | None]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = unquote(self.path.partition("?")[0])
            given = self.headers.get("Authorization")
            asked.append((self.path, given))
            answer = answers.get(path, Answer(b"not here", 404))
            if answer.needs is not None and given != answer.needs:
                how = answers["challenge"].headers["WWW-Authenticate"]
                answer = Answer(b"", 401, {"WWW-Authenticate": how})
            self.send_response(answer.status)
            for name, text in answer.headers.items():
                self.send_header(name, text)
            if "Content-Length" not in answer.headers:
                self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(answer.body)

        do_HEAD = do_GET

        def parse_request(self) -> bool:
            # A client that tries TLS first must be told by a status line that this is plain HTTP.
            if getattr(self, "raw_requestline", b"").startswith(b"\x16"):
                self.wfile.write(b"HTTP/1.0 400 Bad Request\r\n\r\n")
                return False
            return super().parse_request()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield Server(f"127.0.0.1:{server.server_address[1]}", answers, asked)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def sha(data: bytes) -> str:
    """``sha256:...`` of some bytes."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def layer(files: Mapping[str, bytes | str]) -> bytes:
    """A layer: bytes are files, a text is the target of a symbolic link."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for path, content in files.items():
            member = tarfile.TarInfo(path)
            if isinstance(content, str):
                member.type, member.linkname = tarfile.SYMTYPE, content
                tar.addfile(member)
            else:
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def push(
    server: Server,
    name: str,
    tag: str,
    *layers: bytes,
    platforms: tuple[str, ...] = ("linux/amd64",),
    index: bool = False,
) -> str:
    """Serve an image; the digest of the last platform's manifest."""
    entries = []
    digest = ""
    for platform in platforms:
        system, arch = platform.split("/")
        bare = [sha(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data) for data in layers]
        config = json.dumps(
            {"os": system, "architecture": arch, "rootfs": {"type": "layers", "diff_ids": bare}}
        ).encode()
        manifest = {
            "schemaVersion": 2,
            "mediaType": f"{OCI}.manifest.v1+json",
            "config": {
                "mediaType": f"{OCI}.config.v1+json",
                "digest": sha(config),
                "size": len(config),
            },
            "layers": [
                {"mediaType": f"{OCI}.layer.v1.tar+gzip", "digest": sha(data), "size": len(data)}
                for data in layers
            ],
        }
        body = json.dumps(manifest).encode()
        digest = sha(body)
        for data in (config, *layers):
            server.put(f"/v2/{name}/blobs/{sha(data)}", data)
        server.put(f"/v2/{name}/manifests/{digest}", body, f"{OCI}.manifest.v1+json")
        server.put(f"/v2/{name}/manifests/{tag}", body, f"{OCI}.manifest.v1+json")
        entries.append({"digest": digest, "platform": {"os": system, "architecture": arch}})
    if index:
        strange = {"digest": sha(b"x"), "platform": {"os": "unknown", "architecture": "unknown"}}
        listed = {"schemaVersion": 2, "manifests": [*entries, strange]}
        server.put(f"/v2/{name}/manifests/{tag}", listed, f"{OCI}.index.v1+json")
    return digest


def wheel(name: str, version: str, tag: str, requires: tuple[str, ...] = ()) -> tuple[str, bytes]:
    """A wheel without content: its file name and its bytes."""
    stem = f"{name.replace('-', '_')}-{version}"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata += "".join(f"Requires-Dist: {entry}\n" for entry in requires)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for file, text in (
            ("METADATA", metadata),
            ("WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n"),
            ("RECORD", ""),
        ):
            archive.writestr(zipfile.ZipInfo(f"{stem}.dist-info/{file}"), text)
    return f"{stem}-{tag}.whl", buffer.getvalue()


def publish(server: Server, root: str, *wheels: tuple[str, bytes], html: bool = False) -> None:
    """Serve wheels as an index below ``root``, its pages in JSON or HTML."""
    projects: dict[str, list[tuple[str, bytes]]] = {}
    for file, data in wheels:
        projects.setdefault(file.split("-")[0].replace("_", "-"), []).append((file, data))
    for project, files in projects.items():
        for file, data in files:
            server.put(f"/files{root}/{file}", data)
        page = f"{root}/{project}/"
        links = [(f, f"http://{server.host}/files{root}/{f}", sha(data)[7:]) for f, data in files]
        if html:
            rows = "".join(f'<a href="{url}#sha256={digest}">{f}</a>' for f, url, digest in links)
            server.put(
                page, f"<!DOCTYPE html><html><body>{rows}</body></html>".encode(), "text/html"
            )
        else:
            entries = [
                {"filename": f, "url": url, "hashes": {"sha256": digest}}
                for f, url, digest in links
            ]
            body = {"meta": {"api-version": "1.0"}, "name": project, "files": entries}
            server.put(page, body, "application/vnd.pypi.simple.v1+json")
