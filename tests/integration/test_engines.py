"""Each real engine builds, runs, pulls and pushes; nothing of this network stays in an image."""

import json
import re
import signal
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from envbuild.engines import common, names, owner, staging
from envbuild.engines.base import Engine, Mount, RunSpec
from envbuild.errors import BuildError, MachineError
from envbuild.io.net import Net
from envbuild.values.codec import Pairs
from envbuild.values.image import BuildContext, File
from tests.integration.images import places, saved

pytestmark = pytest.mark.engine

Make = Callable[[str], BuildContext]
DOCKERFILE = """\
FROM {base} AS toolchain
RUN --mount=type=secret,id=ca,target=/run/secrets/ca,mode=0444,required=false \\
    --mount=type=secret,id=apt_sources,target=/run/secrets/apt_sources,mode=0444,required=false \\
    --mount=type=secret,id=pip_conf,target=/run/secrets/pip_conf,mode=0444,required=false \\
    cat /run/secrets/ca /run/secrets/apt_sources /run/secrets/pip_conf | wc -c > /seen
FROM {base} AS runtime
LABEL envbuild.stage=runtime
USER 1000:1000
FROM toolchain AS devel
LABEL envbuild.stage=devel envbuild.cc=6.1
ENV MADE=here
USER 1000:1000
ENTRYPOINT ["/bin/false"]
"""


@pytest.fixture
def context(base: str) -> BuildContext:
    return _context(DOCKERFILE.format(base=base), base)


def _context(dockerfile: str, base: str | None = None) -> BuildContext:
    return BuildContext(
        files=(File(path="Dockerfile", data=dockerfile.encode()),),
        platform="linux/amd64",
        base=base,
        bases=(base,) if base else (),
        secrets=("ca", "apt_sources", "pip_conf"),
        apt_index=("bookworm main",),
    )


@pytest.fixture
def net(registry: str, tmp_path: Path) -> Net:
    ca = tmp_path / "ca.pem"
    ca.write_text("-----BEGIN CERTIFICATE-----\nTUFERS1DQS1URVhU\n-----END CERTIFICATE-----\n")
    return Net(
        registry_mirror=registry,
        apt_mirror="http://apt.envbuild.test/debian",
        index_url="http://token:s3cret@pip.envbuild.test/simple",
        ca_cert=str(ca),
    )


@pytest.fixture
def built(engine: Engine, context: BuildContext, net: Net) -> str:
    return engine.build(context, "envbuild-test/engines:1", net).ref


def test_a_build_from_the_mirror_and_what_it_knows_of_its_image(
    engine: Engine, context: BuildContext, net: Net
) -> None:
    image = engine.build(context, "envbuild-test/engines:1", net)
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", image.config)
    assert image.platform == "linux/amd64"
    assert image.labels.get("envbuild.cc") == "6.1"
    assert image.env.get("MADE") == "here"
    assert image.user == "1000:1000"
    assert len(image.diff_ids) >= 2
    assert engine.inspect(image.ref) == image
    small = engine.build(context, "envbuild-test/engines:runtime", net, "runtime")
    assert small.labels.get("envbuild.stage") == "runtime"
    assert small.config != image.config
    assert context.base is not None
    found = engine.inspect(context.base)
    assert found is not None, "the base runs under its canonical name"
    assert found.manifest == names.digest_of(context.base)
    assert engine.inspect(names.local_base(str(found.manifest))) is not None
    assert image.diff_ids[: len(found.diff_ids)] == found.diff_ids


def test_nothing_of_this_network_is_in_the_image(
    engine: Engine, context: BuildContext, net: Net, registry: str, tmp_path: Path
) -> None:
    needles = {
        "ca": b"TUFERS1DQS1URVhU",
        "registry mirror": registry.encode(),
        "apt mirror": b"apt.envbuild.test",
        "index": b"pip.envbuild.test",
        "token": b"s3cret",
        "private folder": b"envbuild-private-",
    }
    image = engine.build(context, "envbuild-test/leak:1", net)
    seen = engine.run(image.ref, RunSpec(argv=("cat", "/seen")))
    assert int(seen.out) > 150, "the build did read its secrets"
    found = set(places(saved(engine, image.ref, tmp_path / "image.tar"), needles))
    assert found == set()
    history = _history(engine, image.ref)
    assert "cat /run/secrets/ca" in history
    assert not [name for name, needle in needles.items() if needle.decode() in history]


def test_the_search_finds_a_leak_where_there_is_one(
    engine: Engine, context: BuildContext, net: Net, base: str, tmp_path: Path
) -> None:
    leaky = DOCKERFILE.replace("| wc -c > /seen", "> /seen").format(base=base)
    image = engine.build(_context(leaky, base), "envbuild-test/leaky:1", net)
    needles = {"ca": b"TUFERS1DQS1URVhU", "apt mirror": b"apt.envbuild.test"}
    found = {name for name, _ in places(saved(engine, image.ref, tmp_path / "i.tar"), needles)}
    assert found == {"ca", "apt mirror"}


def _history(engine: Engine, ref: str) -> str:
    cli = str(engine.probe().cli)
    argv = [cli, "history", "--no-trunc", ref]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def test_a_failing_step_is_a_failed_build_that_names_it(
    engine: Engine, net: Net, base: str
) -> None:
    text = f"FROM {base}\nRUN echo before; cat /not-there; exit 3\n"
    with pytest.raises(BuildError, match="cat /not-there") as caught:
        engine.build(_context(text, base), "envbuild-test/fails", net)
    assert caught.value.exit_code == 5
    assert "before" in caught.value.why
    assert "/not-there: No such file" in caught.value.why
    assert engine.inspect("envbuild-test/fails") is None


def test_a_full_disk_is_the_machines(engine: Engine, net: Net, base: str) -> None:
    text = f"FROM {base}\nRUN cp /etc/passwd /dev/full\n"
    with pytest.raises(MachineError, match="the disk is full"):
        engine.build(_context(text, base), "envbuild-test/full", net)


def test_a_base_that_is_not_served_is_the_machines(engine: Engine, net: Net) -> None:
    base = f"docker.io/library/debian:bookworm-slim@sha256:{'1' * 64}"
    with pytest.raises(MachineError) as caught:
        engine.build(_context(f"FROM {base}\n", base), "envbuild-test/none", net)
    assert caught.value.exit_code == 4


def test_a_base_from_a_registry_that_is_down_is_the_machines(engine: Engine, net: Net) -> None:
    base = f"docker.io/library/debian:bookworm-slim@sha256:{'1' * 64}"
    down = Net(registry_mirror="127.0.0.1:9")
    with pytest.raises(MachineError) as caught:
        engine.pull(base, down)
    assert "127.0.0.1:9" in str(caught.value)


def test_offline_takes_what_is_here_and_fetches_nothing(
    engine: Engine, net: Net, base: str, registry: str
) -> None:
    engine.pull(base, net)
    off = Net(registry_mirror=registry, offline=True)
    assert engine.pull(base, off).manifest == names.digest_of(base)
    with pytest.raises(MachineError, match="--offline"):
        engine.pull(f"docker.io/library/debian@sha256:{'2' * 64}", off)


def test_a_run_keeps_streams_apart_and_mounts_read_only(
    engine: Engine, built: str, tmp_path: Path
) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "in").write_text("mounted\n")
    (tmp_path / "out").mkdir()
    (tmp_path / "out").chmod(0o777)
    script = "echo o; echo e >&2; cat /m/in; echo w > /m/in || echo $X > /w/f; pwd; id -u; exit 3"
    mounts = (
        Mount(source=str(tmp_path), target="/m"),
        Mount(source=str(tmp_path / "out"), target="/w", writable=True),
    )
    spec = RunSpec(
        argv=("sh", "-c", script), mounts=mounts, env=Pairs({"X": "a b"}), workdir="/tmp"
    )
    done = engine.run(built, spec)
    assert done.rc == 3
    assert done.out == "o\nmounted\n/tmp\n1000\n"
    assert done.err.startswith("e\n")
    assert (tmp_path / "in").read_text() == "mounted\n"
    assert (tmp_path / "out" / "f").read_text() == "a b\n"
    assert engine.run(built, RunSpec(argv=("id", "-u"), user="0")).out == "0\n"


def test_a_run_has_no_network_unless_asked(engine: Engine, built: str) -> None:
    count = ("sh", "-c", "tail -n +3 /proc/net/dev | wc -l")
    alone = int(engine.run(built, RunSpec(argv=count)).out)
    shared = int(engine.run(built, RunSpec(argv=count, network="host")).out)
    assert alone < shared


def test_a_run_has_no_rights_and_no_proxy(
    engine: Engine, built: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxies = {"default": {"httpsProxy": "http://me:s3cret@proxy.test:3128"}}
    (tmp_path / "config.json").write_text(json.dumps({"proxies": proxies}))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setenv("https_proxy", proxies["default"]["httpsProxy"])
    look = ("sh", "-c", "grep -E '^(Cap|NoNewPrivs)' /proc/self/status; env")

    def seen(**more: Any) -> str:  # noqa: ANN401
        # A new engine: docker's client reads its config once.
        return type(engine)().run(built, RunSpec(argv=look, user="0", **more)).out

    alone = seen()
    assert re.findall(r"Cap\w+:\s+0*([0-9a-f]+)$", alone, re.MULTILINE) == ["0"] * 5
    assert re.search(r"NoNewPrivs:\s+1", alone)
    assert "s3cret" not in alone
    reading = seen(keeps=("DAC_OVERRIDE",))
    assert set(re.findall(r"Cap(?:Eff|Bnd):\s+0*([0-9a-f]+)$", reading, re.MULTILINE)) == {"2"}
    assert re.search(r"NoNewPrivs:\s+1", reading)
    able = seen(capable=True, network="host")
    assert re.search(r"CapEff:\s+0*[1-9a-f]", able)
    assert re.search(r"NoNewPrivs:\s+0", able)
    assert "s3cret" in able, "a step that fetches gets it"


def test_what_people_start_keeps_rights_as_root_alone(engine: Engine, built: str) -> None:
    look = ("sh", "-c", "grep -E '^(CapBnd|NoNewPrivs)' /proc/self/status")
    # The first start tells podman what this machine does not allow.
    engine.run(built, RunSpec(argv=common.NOTHING))

    def says(ref: str) -> str:
        argv = engine.run_step(ref, look, "none").argv
        return subprocess.run(argv, check=True, capture_output=True, text=True).stdout

    assert re.search(r"CapBnd:\s+0+\nNoNewPrivs:\s+1", says(built)), "its user is 1000"
    client = str(engine.probe().cli)
    asked = [client, "create", "--user", "0", built]
    made = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    commit = [client, "commit", "--change", "USER root", made]
    root = subprocess.run(commit, check=True, capture_output=True, text=True).stdout.strip()
    try:
        assert re.search(r"CapBnd:\s+0*[1-9a-f]\w*\nNoNewPrivs:\s+0", says(root))
    finally:
        for what in (["rm", made], ["rmi", root]):
            subprocess.run([client, *what], check=True, capture_output=True)


def test_a_run_that_takes_too_long_is_ended_and_removed(engine: Engine, built: str) -> None:
    start = time.monotonic()
    done = engine.run(built, RunSpec(argv=("sh", "-c", "echo began; sleep 60"), timeout=2))
    assert done.timed_out
    assert done.out == "began\n"
    assert time.monotonic() - start < 30
    assert _containers(engine) == ""


def test_an_endless_stream_is_cut(engine: Engine, built: str) -> None:
    argv = ("sh", "-c", "head -c 40000000 /dev/zero | tr '\\0' x | fold -w 8000; echo; echo end")
    done = engine.run(built, RunSpec(argv=argv, timeout=60))
    assert done.rc == 0
    assert len(done.out) < 20_000_000
    assert done.out.endswith("end\n")


def _containers(engine: Engine) -> str:
    """Containers that this process left; others may test on the same daemon."""
    own = f"label={owner.LABEL}={owner.owner()}"
    argv = [str(engine.probe().cli), "ps", "--all", "--quiet", "--filter", own]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def test_a_command_that_the_image_lacks_ends_as_in_a_shell(engine: Engine, built: str) -> None:
    assert engine.run(built, RunSpec(argv=("/no/such",))).rc == 127
    assert engine.run(built, RunSpec(argv=("/etc/passwd",))).rc == 126
    assert engine.run(built, RunSpec(argv=("sh", "-c", "exit 125"))).rc == 125
    assert _containers(engine) == ""


def test_an_image_without_a_shell_runs_what_it_has(engine: Engine, tmp_path: Path) -> None:
    source = tmp_path / "hello.c"
    source.write_text('#include <stdio.h>\nint main(void) { puts("hello"); return 4; }\n')
    program = tmp_path / "hello"
    subprocess.run(["cc", "-static", "-Os", "-o", str(program), str(source)], check=True)
    text = 'FROM scratch\nCOPY hello /hello\nENTRYPOINT ["/hello"]\n'
    context = BuildContext(
        files=(
            File(path="Dockerfile", data=text.encode()),
            File(path="hello", data=program.read_bytes(), executable=True),
        ),
        platform="linux/amd64",
    )
    image = engine.build(context, "envbuild-test/scratch:1", Net())
    done = engine.run(image.ref, RunSpec(argv=("/hello",)))
    assert (done.rc, done.out) == (4, "hello\n")
    assert engine.run(image.ref, RunSpec(argv=("/bin/sh", "-c", "true"))).rc == 127


def test_a_device_that_no_spec_names_is_the_machines(engine: Engine, built: str) -> None:
    with pytest.raises(MachineError):
        engine.run(built, RunSpec(argv=("true",), access="cdi", devices=("no-such-gpu",)))
    assert _containers(engine) == ""


def test_an_image_that_is_not_here_is_said(engine: Engine) -> None:
    assert engine.inspect("envbuild-test/nothing:1") is None
    with pytest.raises(MachineError, match="has no image"):
        engine.run("envbuild-test/nothing:1", RunSpec(argv=("true",)))


def test_a_push_names_the_digest_that_the_registry_serves(
    engine: Engine, built: str, registry: str, net: Net
) -> None:
    image = engine.push(built, f"{registry}/envbuild-test/pushed:{engine.name}", net)
    url = f"http://{registry}/v2/envbuild-test/pushed/manifests/{image.manifest}"
    accept = (
        "application/vnd.oci.image.manifest.v1+json,"
        "application/vnd.docker.distribution.manifest.v2+json"
    )
    with urllib.request.urlopen(
        urllib.request.Request(url, headers={"Accept": accept}), timeout=10
    ) as answer:
        assert image.config.encode() in answer.read()
    again = engine.pull(f"{registry}/envbuild-test/pushed@{image.manifest}", net)
    assert again.manifest == image.manifest
    assert again.config == image.config


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Python's own Ctrl-C: what was started in the background of a script ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_run_leaves_no_container(engine: Engine, built: str) -> None:
    ident = threading.main_thread().ident
    assert ident is not None

    def interrupt() -> None:
        """Once it is there, however long this machine takes to make one."""
        for _ in range(300):
            if _containers(engine):
                break
            time.sleep(0.1)
        signal.pthread_kill(ident, signal.SIGINT)

    other = threading.Thread(target=interrupt)
    other.start()
    with pytest.raises(KeyboardInterrupt):
        engine.run(built, RunSpec(argv=("sleep", "60")))
    other.join()
    assert _containers(engine) == ""


def test_the_dry_run_of_a_build_builds_the_same_image(
    engine: Engine, context: BuildContext, net: Net, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = engine.build(context, "envbuild-test/engines:1", net)
    monkeypatch.chdir(tmp_path)
    steps = engine.build_steps(context, "envbuild-test/dry:1", net)
    staging.write(context, Net(), Path(".envbuild/private"))
    for step in steps:
        if step.argv:
            argv = list(step.argv)
            if argv[:2] == ["podman", "pull"]:
                argv[2:2] = ["--tls-verify=false"]
            subprocess.run(argv, check=True)
    found = engine.inspect("envbuild-test/dry:1")
    assert found is not None
    assert found.diff_ids == image.diff_ids
