"""apt, redist and conda from lock to certificate, against a server on this machine.

The vendor's hosts were never asked: indexes and packages are those of `tests.lock.vendor`, made
around a real compiler (Debian's CUDA 12.4, from the stand-in for the vendor's image).
"""

import os
import secrets
import shlex
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from envbuild.engines.base import Engine, RunSpec
from envbuild.engines.find import make
from envbuild.errors import MachineError
from envbuild.io.net import Net
from envbuild.lock.make import lock
from envbuild.render.context import render
from envbuild.values.codec import dump, load, replace
from envbuild.values.lock import Lock
from tests.integration.corridor import Cli, NewCli, walked
from tests.integration.images import places, saved
from tests.integration.shop import Shop, small_plan, stocked
from tests.integration.standin import make as stand
from tests.lock import serving, vendor

pytestmark = [pytest.mark.engine, pytest.mark.apart]

SOURCES = ("apt", "redist", "conda")
TREE = "/usr/local/cuda-12.4"
ROW = """repositories:
- {{kind: apt, name: debian12, oses: [debian12], cuda_min: '12.3', tools: [ca-certificates],
   package: 'cuda-toolkit-{{major}}-{{minor}}', key: {key}, key_file: 3bf863cc.pub,
   url: 'https://developer.download.nvidia.com/compute/cuda/repos/debian12/',
   never: [cuda, '/^cuda-[0-9]+-[0-9]+$/', 'cuda-drivers*', 'cuda-compat-*', 'libcuda1*'],
   source: [repo-debian12], status: sourced, note: 'with a key of this test'}}
"""


@pytest.fixture(scope="session")
def real(
    standin: None, registry: str, old_docker: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shop]:
    """Archives of a compiler that compiles."""
    folder = tmp_path_factory.mktemp("vendor")

    def docker(*argv: str) -> str:
        done = subprocess.run([old_docker, *argv], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    container = docker("create", f"{registry}/nvidia/cuda:12.4.1-devel-ubuntu22.04")
    docker("cp", f"{container}:{TREE}", str(folder))
    docker("rm", container)
    with stocked(folder, vendor.read(folder / Path(TREE).name)) as shop:
        yield shop


@pytest.fixture(scope="session", params=SOURCES)
def walk(
    request: pytest.FixtureRequest,
    real: Shop,
    new_cli: NewCli,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Cli]:
    """The folder after ``up`` with one of the three sources: CUDA 12.4 for Pascal on Debian 12."""
    if request.param == "conda":
        pytest.importorskip("rattler")
    rows = tmp_path_factory.mktemp("rows")
    (rows / "repositories.yaml").write_text(ROW.format(key=real.key.fingerprint))
    # A login, as behind a company's mirror: it must be nowhere.
    mirror = real.mirror.replace("://", "://reader:hunter2@")
    more = (("ENVBUILD_MATRICES", str(rows)), ("ENVBUILD_TOOLKIT_MIRROR", mirror))
    cli = new_cli(request.param)._replace(more=(*more, ("ENVBUILD_NETWORK", "host")))
    flags = ("--toolkit-source", request.param, "--cc", "6.1", "--cuda", "12.4")
    yield from walked(cli, *flags[2:4], *flags[:2], *flags[4:], "--base-os", "debian12")


def source(cli: Cli) -> str:
    return str(cli.plan().toolkit_source)


def test_the_image_is_certified_for_its_target(walk: Cli) -> None:
    out = (walk.folder / "up.out").read_text()
    assert "CERTIFIED toolchain, cc 6.1" in out
    assert "SASS for sm_61; no driver in the image" in out
    said = (walk.folder / "up.err").read_text()
    assert f"source {source(walk)}: not run against the vendor" in said
    readme = (walk.folder / ".envbuild/context/README.md").read_text()
    assert "not run against the vendor" in readme
    assert walk.certificate().subject.digest


def test_it_is_a_toolkit_like_any_other(walk: Cli) -> None:
    image = walk.image()
    assert image.user == "1000:1000"
    labels = dict(image.labels)
    assert (labels["envbuild.cuda"], labels["envbuild.stage"]) == ("12.4.1", "devel")
    said = walk.inside(
        "nvcc --version; readlink -f /usr/local/cuda; test -w /work && echo writable;"
        'echo "$CUDA_HOME $NVCC_CCBIN $CUDAARCHS"; ls /tmp /var/lib/apt/lists'
    )
    assert "release 12.4" in said
    assert "/usr/local/cuda-12.4\nwritable\n/usr/local/cuda /usr/bin/g++-12 61\n" in said
    assert said.endswith("/tmp:\n\n/var/lib/apt/lists:\n")


def test_licences_are_kept_and_a_driver_stays_out(walk: Cli) -> None:
    found = walk.inside('find / -name "libcuda.so*" -not -path "*/stubs/*" 2>/dev/null || true')
    assert found == ""
    if source(walk) == "apt":
        kept = walk.inside("cat /etc/apt/sources.list.d/envbuild-toolkit.list; apt-cache policy")
        assert "signed-by=/etc/apt/keyrings/envbuild-toolkit.asc] https://developer." in kept
        assert "cuda-drivers" in walk.inside("cat /etc/apt/preferences.d/envbuild-toolkit")
    else:
        assert "cuda" in walk.inside("ls /usr/local/cuda/licenses; ls /usr/local/cuda/licenses/*")


@pytest.fixture
def leaving(registry: str, standin: None) -> str:
    """A mirror that has the vendor's tag under a digest that no engine knows; it can delete it."""
    del standin
    place = f"leaving-{secrets.token_hex(4)}"
    for name in (stand.VENDOR, stand.SYSTEM):
        argv = ["skopeo", "copy", "-q", "--preserve-digests", "--src-tls-verify=false"]
        argv += ["--dest-tls-verify=false", f"docker://{registry}/{name}"]
        subprocess.run([*argv, f"docker://{registry}/{place}/{name}"], check=True)
        body, kind = asked(registry, f"{place}/{name}")
        asked(registry, f"{place}/{name}", "PUT", body + b"\n", kind)
    return f"{registry}/{place}"


def asked(
    registry: str, name: str, method: str = "GET", body: bytes | None = None, kind: str = ""
) -> tuple[bytes, str]:
    """What the registry answers about a manifest (by tag or digest), and its media type."""
    repository, _, end = name.partition("@") if "@" in name else name.partition(":")
    media = "application/vnd.docker.distribution.manifest.v2+json"
    request = urllib.request.Request(
        f"http://{registry}/v2/{repository}/manifests/{end}",
        data=body,
        headers={"Accept": media} | ({"Content-Type": kind} if kind else {}),
        method=method,
    )
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
        return answer.read(), answer.headers.get("Content-Type") or ""


def test_a_deleted_tag_is_rebuilt_by_the_recipe_of_its_lock(
    leaving: str, real: Shop, registry: str, new_cli: NewCli
) -> None:
    more = (("ENVBUILD_TOOLKIT_MIRROR", real.mirror), ("ENVBUILD_NETWORK", "host"))
    cli = new_cli("leaving")._replace(mirror=leaving, more=more)
    plan = ("--cc", "6.1", "--cuda", "12.4", "--toolkit-source", "image")
    assert cli("lock", *plan).returncode == 0
    made = load(Lock, (cli.folder / "envbuild.lock").read_bytes(), "envbuild.lock")
    assert made.base is not None
    assert made.recipe is not None
    assert (made.recipe.source, made.recipe.cuda) == ("redist", "12.4.1")
    assert leaving.encode() not in (cli.folder / "envbuild.lock").read_bytes()
    place = leaving.partition("/")[2]
    asked(registry, f"{place}/{stand.VENDOR.partition(':')[0]}@{made.base.digest}", "DELETE")
    offered = ""
    for argv in (("lock", *plan, "-o", "new.lock"), ("build", *plan, "--lock", "envbuild.lock")):
        done = cli(*argv)
        assert done.returncode == 4, done.stderr
        assert "answered 404" in done.stderr
        offered = done.stderr.partition("from the vendor's archives: envbuild ")[2]
        assert "--toolkit-source redist" in offered, done.stderr
    assert not (cli.folder / ".envbuild/image.json").exists()
    try:
        tag = ("--tag", "envbuild-test/again:1")
        done = cli(*shlex.split(offered.splitlines()[0]), *tag)
        assert done.returncode == 0, done.stderr[-4000:]
        assert cli.plan().image.ref == "docker.io/library/ubuntu:22.04"
        assert f"release {made.recipe.cuda.rpartition('.')[0]}" in cli.inside("nvcc --version")
        assert cli.lock().recipe is None
        done = cli("certify", "--require", "toolchain")
        assert "CERTIFIED toolchain, cc 6.1" in done.stdout, done.stdout + done.stderr
    finally:
        cli.drop()


def test_mirror_and_login_are_nowhere(walk: Cli, real: Shop, tmp_path: Path) -> None:
    host = real.mirror.removeprefix("http://")
    needles = {"host": host.encode(), "login": b"hunter2"}
    image = saved(make("docker"), walk.image().ref, tmp_path / "image.tar")
    assert list(places(image, needles)) == []
    # The control: what must be there is found the same way.
    assert list(places(image, {"label": b"envbuild.cuda"}))
    for path in (walk.folder / ".envbuild").rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert not any(needle in data for needle in needles.values()), path
    for name in ("up.out", "up.err"):
        assert "hunter2" not in (walk.folder / name).read_text()


def test_the_lock_is_of_the_plan_and_is_not_made_again(walk: Cli) -> None:
    flags = (walk.folder / "flags").read_text().split()
    plain = flags[: flags.index("--require")]
    lock_file = ".envbuild/envbuild.lock"
    assert walk("lock", "--check", *plain, "-o", lock_file).returncode == 0
    assert walk("lock", "--check", *plain, "--cc", "7.0", "-o", lock_file).returncode == 7
    before = (walk.folder / lock_file).read_bytes()
    again = walk("build", *plain)
    assert again.returncode == 0, again.stderr
    assert "CACHED" in again.stderr
    assert (walk.folder / lock_file).read_bytes() == before


def test_the_runtime_stage_runs_a_program_without_a_compiler(walk: Cli) -> None:
    flags = (walk.folder / "flags").read_text().split()
    plain = flags[: flags.index("--require")]
    tag = f"envbuild-test/archives-runtime-{source(walk)}:1"
    done = walk("build", *plain, "--target", "runtime", "--tag", tag)
    assert done.returncode == 0, done.stderr
    engine = make("docker")
    script = "ldconfig -p | grep libcudart.so.12; command -v nvcc g++ || echo none; id -u"
    seen = engine.run(tag, RunSpec(argv=("sh", "-c", script)))
    assert "/usr/local/lib/libcudart.so.12" in seen.out
    assert seen.out.endswith("none\n1000\n")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """Archives of a toolkit that does nothing, for faults and for other engines."""
    with stocked(tmp_path_factory.mktemp("small"), vendor.tiny()) as shop:
        yield shop


@pytest.mark.parametrize("kind", SOURCES)
def test_every_engine_builds_it(kind: str, small: Shop, registry: str, engine: Engine) -> None:
    if kind == "conda":
        pytest.importorskip("rattler")
    net = Net(registry_mirror=registry, toolkit_mirror=small.mirror, network="host")
    plan = small_plan(kind, small)
    context = render(plan, lock(plan, net, engine))
    tag = f"envbuild-test/archives-{kind}:1"
    engine.build(context, tag, net)
    seen = engine.run(
        tag, RunSpec(argv=("sh", "-c", "nvcc; cat /usr/local/cuda/lib64/libcudart.so"))
    )
    assert seen.out == "stand-in\ncudart", seen.err


@pytest.mark.parametrize("kind", ["redist", "conda"])
def test_a_bundle_of_archives_builds_when_their_server_is_gone(
    kind: str, tmp_path: Path, new_cli: NewCli
) -> None:
    if kind == "conda":
        pytest.importorskip("rattler")
    cli = new_cli(f"bundle-{kind}")
    with stocked(tmp_path, vendor.tiny() | {"nvvm/unique": os.urandom(16)}) as shop:
        (cli.folder / "plan.json").write_bytes(dump(small_plan(kind, shop)))
        fetching = cli._replace(more=(("ENVBUILD_TOOLKIT_MIRROR", shop.mirror),))
        made = fetching("lock", "plan.json", "--bundle", "kept")
        assert made.returncode == 0, made.stderr
    tag = f"envbuild-test/bundle-{kind}:1"
    flags = ("build", "plan.json", "--tag", tag, "--engine", "docker")
    # The control: without the bundle nothing can be had.
    assert cli(*flags, "--lock", "envbuild.lock", mirror="127.0.0.1:9").returncode == 4
    done = cli(*flags, "--bundle", "kept", "--offline", mirror="127.0.0.1:9")
    assert done.returncode == 0, done.stderr[-3000:]
    seen = make("docker").run(tag, RunSpec(argv=("nvcc",)))
    assert seen.out == "stand-in\n", seen.err


def test_other_bytes_in_a_bundle_are_refused_and_fetched_again(
    small: Shop, tmp_path: Path, new_cli: NewCli
) -> None:
    cli = new_cli("bundle-bytes")._replace(more=(("ENVBUILD_TOOLKIT_MIRROR", small.mirror),))
    (cli.folder / "plan.json").write_bytes(dump(small_plan("redist", small)))
    bundling = ("lock", "plan.json", "--bundle", "kept")
    assert cli(*bundling).returncode == 0
    kept = cli.folder / "kept"
    for path in (next(kept.glob("debs/*.deb")), next(kept.glob("toolkit/**/*.tar.xz"))):
        right = path.read_bytes()
        path.write_bytes(right[:-1] + bytes([right[-1] ^ 1]))
        build = ("build", "plan.json", "--bundle", "kept", "--tag", "envbuild-test/never:1")
        done = cli(*build, "--engine", "docker")
        assert done.returncode == 7, done.stderr[-2000:]
        assert path.name in done.stderr
        assert cli(*bundling).returncode == 0
        assert path.read_bytes() == right


@pytest.mark.parametrize("kind", SOURCES)
def test_a_private_ca_reaches_lock_and_build(kind: str, tmp_path: Path, registry: str) -> None:
    if kind == "conda":
        pytest.importorskip("rattler")
    files = vendor.tiny() | {"nvvm/unique": os.urandom(16)}
    with stocked(tmp_path, files, serving.certificate(tmp_path)) as shop:
        plan = small_plan(kind, shop)
        net = Net(registry_mirror=registry, toolkit_mirror=shop.mirror, network="host")
        with pytest.raises(MachineError):
            lock(plan, net, make("docker"))
        net = replace(net, ca_cert=str(tmp_path / "ca.pem"))
        context = render(plan, lock(plan, net, make("docker")))
        make("docker").build(context, f"envbuild-test/tls-{kind}:1", net)
