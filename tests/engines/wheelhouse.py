"""Made wheels (a few bytes each, laid out like the vendor's) and an index that serves them."""

import base64
import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from envbuild.values.codec import digest, dump
from envbuild.values.image import BuildContext, File
from envbuild.values.lock import Lock, Wheel
from envbuild.values.plan import HostCompiler, MatrixId, Plan, Size
from envbuild.values.request import Request

MATRIX = MatrixId(date="2026-12-01", digest="sha256:0")

# Made: what nvcc 13.0 prints for --version, --list-gpu-code, --dryrun, cut to what is read of it.
NVCC = """#!/bin/sh
case $1 in
--version) echo "Cuda compilation tools, release {cuda}, V{cuda}.88" ;;
--list-gpu-code) printf 'sm_75\\nsm_90\\n' ;;
--dryrun) echo "#$ _HERE_=${{0%/*}}" >&2 ;;
*) echo "nvcc $*" ;;
esac
"""
# Made: the one line that matters of the vendor's crt/host_config.h.
HOST_CONFIG = "#if __GNUC__ > {gcc}\n#error -- unsupported GNU version!\n#endif\n"


class Made(NamedTuple):
    """A made wheel: its bytes and its line of a lock."""

    data: bytes
    wheel: Wheel


def make_wheel(name: str, version: str, entries: dict[str, bytes]) -> Made:
    """A wheel with these entries; what starts with ``#!`` is executable."""
    plain = name.replace("-", "_")
    info = f"{plain}-{version}.dist-info"
    whole = entries | {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = [f"{path},sha256={_b64(data)},{len(data)}" for path, data in whole.items()]
    whole[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,", ""]).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in whole.items():
            entry = zipfile.ZipInfo(path, (2026, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if data[:2] == b"#!" else 0o100644) << 16
            archive.writestr(entry, data)
    data = buffer.getvalue()
    file = f"{plain}-{version}-py3-none-any.whl"
    sha = hashlib.sha256(data).hexdigest()
    return Made(data, Wheel(name=name, version=version, file=file, sha256=sha, index="pypi"))


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def toolkit_wheels(cuda: str = "13.0", gcc: int = 99) -> tuple[Made, ...]:
    """A compiler and a runtime, each a wheel."""
    return (
        make_wheel(
            "nvidia-cuda-nvcc",
            f"{cuda}.88",
            {
                "nvidia/cu13/bin/nvcc": NVCC.format(cuda=cuda).encode(),
                "nvidia/cu13/include/crt/host_config.h": HOST_CONFIG.format(gcc=gcc).encode(),
            },
        ),
        make_wheel(
            "nvidia-cuda-runtime", f"{cuda}.96", {"nvidia/cu13/lib/libcudart.so.13": b"library"}
        ),
    )


def context(made: tuple[Made, ...], **plan: object) -> BuildContext:
    """The context of a plan for cc 9.0 and the lock of these wheels."""
    fields: dict[str, object] = {
        "outcome": "ok",
        "cc": ("9.0",),
        "cuda": "13.0.2",
        "toolkit_source": "wheels",
        "promise": ("90",),
        "matrix": MATRIX,
        "host_compiler": HostCompiler(name="gcc", max=99),
        "request": Request(toolkit_source="wheels"),
        "size": Size(disk_mib=1),
    }
    planned = Plan(**(fields | plan))  # type: ignore[arg-type]
    lock = Lock(
        tool="test",
        plan=digest(planned),
        matrix=MATRIX,
        platform="linux/amd64",
        wheels=tuple(m.wheel for m in made),
    )
    return BuildContext(
        files=(
            File(path="plan.json", data=dump(planned)),
            File(path="envbuild.lock", data=dump(lock)),
        ),
        platform="linux/amd64",
    )


class Index:
    """A package index on a port of its own.

    Attributes:
        url: to give as ``--index-url``.
        files: bytes by file name.
        fetched: file names in the order in which they were asked for.
        cut: how many more times a file is cut off half-way.
        stall: file names that never arrive.
    """

    def __init__(self, made: tuple[Made, ...]) -> None:
        self.files = {m.wheel.file: m.data for m in made}
        self.fetched: list[str] = []
        self.cut: dict[str, int] = {}
        self.stall: set[str] = set()
        self.over = threading.Event()
        self.url = ""


@contextmanager
def serving(made: tuple[Made, ...]) -> Iterator[Index]:
    """Serve the wheels until the block ends."""
    index = Index(made)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.rstrip("/").rsplit("/", 1)[1]
            if name in index.files:
                index.fetched.append(name)
                self.send_file(name, index.files[name])
                return
            files = [f for f in index.files if f.startswith(name.replace("-", "_") + "-")]
            page = "".join(f'<a href="/files/{f}">{f}</a>' for f in files).encode()
            self.head("text/html", len(page))
            self.wfile.write(page)

        def send_file(self, name: str, data: bytes) -> None:
            self.head("application/octet-stream", len(data))
            if name in index.stall:
                self.wfile.flush()
                index.over.wait(60)
            elif index.cut.get(name, 0) > 0:
                index.cut[name] -= 1
                self.wfile.write(data[: len(data) // 2])
                self.close_connection = True
            else:
                self.wfile.write(data)

        def head(self, kind: str, length: int) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(length))
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    index.url = f"http://127.0.0.1:{server.server_port}/simple"
    try:
        yield index
    finally:
        index.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
