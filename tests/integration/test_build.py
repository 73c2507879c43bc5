"""``envbuild build`` and ``run`` as a user starts them, on real engines: ends, kills, refusals."""

import contextlib
import hashlib
import http.server
import json
import os
import pty
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from envbuild.engines import names, staging
from envbuild.engines.base import Engine, RunSpec
from envbuild.engines.docker import DockerEngine
from envbuild.engines.find import make
from envbuild.errors import EnvbuildError, MachineError, StaleError
from envbuild.io.net import Net
from envbuild.matrix.load import load as matrices
from envbuild.planner.plan import plan as make_plan
from envbuild.planner.resolve import resolve
from envbuild.values.codec import dump, load, replace
from envbuild.values.image import BuildContext, File, Image
from envbuild.values.plan import Plan, Size
from envbuild.values.request import Request
from tests.integration.command import CLI, envbuild, folder, private
from tests.integration.conftest import service

pytestmark = pytest.mark.engine


def test_a_context_folder_becomes_an_image_that_runs(
    env: dict[str, str], tmp_path: Path, base: str, mirror: tuple[str, ...]
) -> None:
    place = folder(tmp_path, base, "echo built > /f")
    done = envbuild(env, tmp_path, "build", str(place), *mirror)
    assert done.returncode == 0, done.stderr
    assert re.search(r"config +sha256:[0-9a-f]{64}", done.stdout)
    assert "docker 20.10" in done.stderr
    data = (tmp_path / ".envbuild/image.json").read_bytes()
    image = load(Image, data, "image.json")
    assert image.ref == "envbuild/made"
    again = envbuild(env, tmp_path, "build", str(place), *mirror, "--json", "--quiet")
    assert load(Image, again.stdout.encode(), "stdout") == image
    assert again.stderr == ""
    ran = envbuild(env, tmp_path, "run", "--", "sh", "-c", "cat /f; exit 7")
    assert (ran.returncode, ran.stdout) == (7, "built\n"), ran.stderr
    assert private(env) == []


def test_a_dry_run_prints_commands_and_does_nothing(
    env: dict[str, str], tmp_path: Path, base: str, mirror: tuple[str, ...]
) -> None:
    place = folder(tmp_path, base, "true")
    done = envbuild(env, tmp_path, "build", str(place), *mirror, "--dry-run", "--tag", "a/b:c")
    assert done.returncode == 0, done.stderr
    assert f"pull {mirror[1]}/library/debian@sha256:" in done.stdout
    assert "--tag a/b:c" in done.stdout
    assert not (tmp_path / ".envbuild").exists()
    ran = envbuild(env, tmp_path, "run", "x/y", "--access", "cdi", "--dry-run", "--", "echo", "a b")
    assert "--device nvidia.com/gpu=all --entrypoint echo x/y 'a b'" in ran.stdout


def test_exit_codes_of_what_can_go_wrong(
    env: dict[str, str], tmp_path: Path, base: str, mirror: tuple[str, ...]
) -> None:
    fails = envbuild(env, tmp_path, "build", str(folder(tmp_path, base, "exit 9")), *mirror)
    assert fails.returncode == 5
    assert "RUN --mount=type=secret,id=ca,required=false exit 9" in fails.stderr
    full = folder(tmp_path, base, "cp /etc/passwd /dev/full")
    assert envbuild(env, tmp_path, "build", str(full), *mirror).returncode == 4
    nowhere = env | {"DOCKER_HOST": "unix:///nonexistent"}
    down = envbuild(nowhere, tmp_path, "build", str(full), *mirror)
    assert down.returncode == 4
    assert "/nonexistent" in down.stderr
    assert "Traceback" not in down.stderr
    ran = envbuild(nowhere, tmp_path, "run", "x")
    assert ran.returncode == 4
    assert envbuild(env, tmp_path, "build", "--engine", "dokcer", str(full)).returncode == 2
    assert envbuild(env, tmp_path, "run").returncode == 2
    assert not (tmp_path / ".envbuild/image.json").exists()


def _in_terminal(argv: list[str], env: dict[str, str], cwd: Path) -> tuple[int, str]:
    """Run with a terminal of its own; exit code and all that it showed."""
    parent, child = pty.openpty()
    process = subprocess.Popen(
        argv, env=env, cwd=cwd, stdin=child, stdout=child, stderr=child, start_new_session=True
    )
    os.close(child)
    shown = b""
    with contextlib.suppress(OSError):
        while chunk := os.read(parent, 4096):
            shown += chunk
    os.close(parent)
    return process.wait(60), shown.decode("utf-8", "replace")


def test_run_gives_the_terminal_on_where_there_is_one(
    engine: Engine, env: dict[str, str], tmp_path: Path, base: str, registry: str
) -> None:
    engine.pull(base, Net(registry_mirror=registry))
    own = env | {k: os.environ[k] for k in ("DOCKER_HOST", "PATH") if k in os.environ}
    look = "test -t 0 && test -t 1 && echo terminal || echo pipe; exit 5"
    argv = [*CLI, "run", names.local_base(str(names.digest_of(base))), "--engine", engine.name]
    argv += ["--access", "none", "--", "sh", "-c", look]
    rc, shown = _in_terminal(argv, own, tmp_path)
    assert rc == 5, shown
    assert "terminal" in shown
    piped = subprocess.run(
        argv, env=own, cwd=tmp_path, capture_output=True, text=True, input="", check=False
    )
    assert (piped.returncode, piped.stdout) == (5, "pipe\n"), piped.stderr


def test_run_finds_the_engine_that_has_the_image(
    env: dict[str, str], tmp_path: Path, base: str, registry: str
) -> None:
    podman = make("podman")
    context = BuildContext(
        files=(File(path="Dockerfile", data=f"FROM {base}\n".encode()),),
        platform="linux/amd64",
        base=base,
        bases=(base,),
    )
    podman.build(context, "localhost/envbuild-test/only-podman:1", Net(registry_mirror=registry))
    done = envbuild(env, tmp_path, "run", "localhost/envbuild-test/only-podman:1", "--dry-run")
    assert "podman run" in done.stdout, done.stderr


def test_an_image_that_cannot_fit_is_refused_before_it_is_built() -> None:
    made = make_plan(resolve(Request(cc=("9.0",)), None, matrices()), matrices())
    assert isinstance(made, Plan)
    for size, fits in ((1, True), (1 << 40, False)):
        plan = replace(made, size=Size(disk_mib=size))
        files = (
            File(path="Dockerfile", data=b"FROM scratch\nCOPY plan.json /\n"),
            File(path="plan.json", data=dump(plan)),
        )
        context = BuildContext(files=files, platform="linux/amd64")
        with contextlib.nullcontext() if fits else pytest.raises(MachineError, match="MiB free"):
            DockerEngine().build(context, "envbuild-test/size:1", Net())


def test_the_same_context_builds_on_the_oldest_and_the_newest_engine(
    base: str, registry: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"FROM {base}\nRUN touch -d @0 /f && echo same\nLABEL envbuild.cc=9.0\n"
    files = (File(path="Dockerfile", data=text.encode()),)
    context = BuildContext(files=files, platform="linux/amd64", base=base, bases=(base,))
    net = Net(registry_mirror=registry)
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    old = DockerEngine()
    first = old.build(context, "envbuild-test/both:1", net)
    request.getfixturevalue("newest")
    new = DockerEngine()
    second = new.build(context, "envbuild-test/both:1", net)
    assert (old.probe().buildkit, new.probe().buildkit) == ("DOCKER_BUILDKIT", "buildx")
    assert str(old.probe().version).startswith("20.10")
    assert int(str(new.probe().version).partition(".")[0]) >= 28
    assert first.diff_ids[:1] == second.diff_ids[:1]
    assert first.labels == second.labels
    assert second.manifest, "containerd's store knows the manifest before a push"
    for engine in (old, new):
        seen = engine.run("envbuild-test/both:1", RunSpec(argv=("stat", "-c", "%Y", "/f")))
        assert seen.out == "0\n"


# Made: version, device names and edits as the CDI specification 0.5.0 defines them; /dev/null is
# the stand-in of a GPU's device node.
STAND_IN = {
    "cdiVersion": "0.5.0",
    "kind": "nvidia.com/gpu",
    "devices": [
        {
            "name": name,
            "containerEdits": {
                "deviceNodes": [{"path": "/dev/nvidia0", "hostPath": "/dev/null"}],
                "env": [f"STAND_IN={name}"],
            },
        }
        for name in ("all", "0")
    ],
}


def test_access_mode_cdi_brings_environment_and_device(
    newest: None, base: str, registry: str
) -> None:
    spec = Path(service("ENVBUILD_TEST_NEWEST_CDI")) / "stand-in.json"
    spec.write_text(json.dumps(STAND_IN))
    look = ("sh", "-c", 'echo "$STAND_IN"; stat -c %F /dev/nvidia0')
    try:
        engine = DockerEngine()
        engine.pull(base, Net(registry_mirror=registry))
        for _ in range(50):
            if "cdi" in DockerEngine().probe().access:
                break
            time.sleep(0.1)
        assert "cdi" in DockerEngine().probe().access
        done = engine.run(base, RunSpec(argv=look, access="cdi"))
        assert done.out == "all\ncharacter special file\n", done.err
        one = engine.run(base, RunSpec(argv=look, access="cdi", devices=("0",)))
        assert one.out == "0\ncharacter special file\n"
        without = engine.run(base, RunSpec(argv=look))
        assert without.out == "\n"
        with pytest.raises(MachineError, match="unresolvable CDI devices"):
            engine.run(base, RunSpec(argv=look, access="cdi", devices=("7",)))
    finally:
        spec.unlink()


class _Liar(http.server.BaseHTTPRequestHandler):
    """A registry that serves other bytes under a digest than the digest says (made)."""

    body = json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
            "config": {},
            "layers": [],
        }
    ).encode()

    def do_GET(self) -> None:
        found = self.path == "/v2/" or "/manifests/" in self.path
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "application/vnd.docker.distribution.manifest.v2+json")
        self.send_header("Content-Length", str(len(self.body)))
        self.send_header("Docker-Content-Digest", self.path.rpartition("/")[2])
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(self.body)

    do_HEAD = do_GET

    def parse_request(self) -> bool:
        # A client that tries TLS first must be told by a status line that this is plain HTTP.
        if getattr(self, "raw_requestline", b"").startswith(b"\x16"):
            self.wfile.write(b"HTTP/1.0 400 Bad Request\r\n\r\n")
            return False
        return super().parse_request()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def liar() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Liar)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_mirror_that_serves_other_bytes_is_caught(engine: Engine, liar: str) -> None:
    digest = "sha256:" + hashlib.sha256(b"what the lock names").hexdigest()
    base = f"docker.io/library/debian:bookworm-slim@{digest}"
    context = BuildContext(
        files=(File(path="Dockerfile", data=f"FROM {base}\n".encode()),),
        platform="linux/amd64",
        base=base,
        bases=(base,),
    )
    assert staging.mirrored_bases(context, Net(registry_mirror=liar)) == {
        base: names.local_base(digest)
    }
    with pytest.raises(EnvbuildError) as caught:
        engine.build(context, "envbuild-test/lied", Net(registry_mirror=liar))
    assert isinstance(caught.value, StaleError), caught.value
    assert caught.value.exit_code == 7
