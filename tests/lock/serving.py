"""A folder of this machine as a server on the network, by TLS with a certificate made here."""

import http.server
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path


def certificate(folder: Path) -> Path:
    """A certificate of this machine with its key, ``server.pem``; ``ca.pem`` beside it signs it."""

    def openssl(*argv: str) -> None:
        subprocess.run(["openssl", *argv], check=True, capture_output=True, cwd=folder)

    new = ("req", "-newkey", "rsa:2048", "-nodes")
    openssl(*new, "-x509", "-subj", "/CN=stand-in CA", "-keyout", "ca.key", "-out", "ca.pem")
    openssl(*new, "-subj", "/CN=stand-in", "-keyout", "server.key", "-out", "server.csr")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    signed = ("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key")
    openssl(*signed, "-CAcreateserial", "-extfile", "names", "-days", "2", "-out", "server.crt")
    path = folder / "server.pem"
    path.write_text((folder / "server.key").read_text() + (folder / "server.crt").read_text())
    return path


@contextmanager
def served(root: Path, pem: Path | None = None) -> Iterator[str]:
    """Serve a folder on this machine, by TLS where a certificate is given; its address."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Handler, directory=str(root))
    )
    if pem:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http{'s' if pem else ''}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
