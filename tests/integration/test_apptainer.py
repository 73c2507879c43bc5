"""Apptainer for real: archives and registry images, with and without root; no GPU was there.

Its flags for GPUs are looked at as argv in ``tests/engines``: nothing here proves them.
"""

import json
import os
import secrets
import signal
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from envbuild.engines.apptainer import ApptainerEngine
from envbuild.engines.base import Mount, RunSpec
from envbuild.errors import ImageError, InputError, MachineError, StaleError
from envbuild.io import ociarchive
from envbuild.io.net import Net
from envbuild.values.certificate import Certificate
from envbuild.values.codec import Pairs, load
from tests import oci
from tests.integration.command import CLI, ROOT, envbuild
from tests.integration.conftest import service

pytestmark = [pytest.mark.engine, pytest.mark.apart]

# What an ordinary user of a cluster is: no root, and a user namespace in its place.
NOBODY = ("unshare", "--user", "--map-user=65534", "--map-group=65534")


@pytest.fixture(autouse=True)
def on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{service('ENVBUILD_TEST_APPTAINER')}:{os.environ['PATH']}")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where unpacked images are shared by the tests."""
    return tmp_path_factory.mktemp("apptainer")


@pytest.fixture
def apptainer(root: Path) -> ApptainerEngine:
    return ApptainerEngine(root=root)


@pytest.fixture
def net(registry: str) -> Net:
    return Net(registry_mirror=registry)


def copied(registry: str, name: str, folder: Path) -> Path:
    """An image of the registry as an OCI archive, as another program writes it."""
    file = folder / "image.oci.tar"
    argv = ["skopeo", "copy", "-q", "--src-tls-verify=false", f"docker://{registry}/{name}"]
    subprocess.run([*argv, f"oci-archive:{file}"], check=True)
    return file


@pytest.fixture(scope="module")
def small(registry: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Debian as an archive."""
    return copied(registry, "library/debian:bookworm-slim", tmp_path_factory.mktemp("small"))


@pytest.mark.usefixtures("standin")
def test_an_archive_is_certified_without_root_and_without_a_gpu(
    registry: str, env: dict[str, str], tmp_path: Path
) -> None:
    archive = copied(registry, "nvidia/cuda:12.4.1-devel-ubuntu22.04", tmp_path)
    flags = ("--require", "toolchain", "--cc", "6.1", "--json")
    argv = [*NOBODY, *CLI, "certify", archive.name, *flags]
    env |= {"PATH": os.environ["PATH"]}
    done = subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = load(Certificate, done.stdout.encode(), "stdout")
    inside = ociarchive.head(archive)
    assert (found.engine, found.access, found.verdict) == ("apptainer", "none", "pass")
    assert (found.subject.kind, found.subject.digest) == ("config", inside.config)
    assert found.subject.diff_ids == tuple(layer.diff_id for layer in inside.layers)


def test_a_registrys_image_is_checked_and_known_by_its_digests(
    apptainer: ApptainerEngine, base: str, net: Net
) -> None:
    digest = base.partition("@")[2]
    image = apptainer.pull(base, net)
    assert (image.ref, image.manifest, image.platform) == (base, digest, "linux/amd64")
    tag = apptainer.pull("docker.io/library/debian:bookworm-slim", net)
    for name in (base, tag.ref, f"docker.io/library/debian@{digest}", image.config):
        found = apptainer.inspect(name)
        assert found is not None
        assert (found.config, found.ref) == (image.config, name)
    nowhere = Net(offline=True)
    assert apptainer.pull(tag.ref, nowhere).config == image.config
    with pytest.raises(MachineError, match="--offline"):
        apptainer.pull("docker.io/library/debian:other", nowhere)
    assert apptainer.inspect("docker.io/library/debian:other") is None
    assert apptainer.run(base, RunSpec(argv=("cat", "/etc/debian_version"))).out.startswith("12")
    assert not list(apptainer.root.glob(".new-*"))


def test_a_tag_means_what_it_meant_last(registry: str, tmp_path: Path) -> None:
    """The registry's own tag moves from one release to the other."""
    place = f"{registry}/envbuild-test/moving-{secrets.token_hex(4)}"
    engine = ApptainerEngine(root=tmp_path / "root")
    found = []
    for suite in ("bookworm", "trixie"):
        source = f"docker://{registry}/library/debian:{suite}-slim"
        argv = ["skopeo", "copy", "-q", "--src-tls-verify=false", "--dest-tls-verify=false"]
        subprocess.run([*argv, source, f"docker://{place}:1"], check=True)
        found.append(engine.pull(f"{place}:1", Net()).config)
        now = engine.inspect(f"{place}:1")
        assert now is not None
        assert now.config == found[-1]
    assert found[0] != found[1]
    assert engine.inspect(found[0]) is not None


def test_a_command_is_kept_from_this_machine(
    apptainer: ApptainerEngine, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APPTAINER_BIND", f"{tmp_path}:/mnt")
    monkeypatch.setenv("APPTAINERENV_LEAK", "leaked")
    monkeypatch.setenv("LEAK", "leaked")
    odd = tmp_path / 'a, "b" c'
    odd.mkdir()
    (odd / "file").write_text("read\n")
    script = (
        "cat '/in, x/file'; echo w > /out/w; echo \"$ODD\"; id -u; pwd; grep CapEff /proc/1/status;"
        "tail -n +3 /proc/net/dev | cut -d: -f1; touch '/in, x/no' /written 2>&1; env; ls /mnt;"
        "df --output=size /tmp"
    )
    out = tmp_path / "out"
    out.mkdir()
    spec = RunSpec(
        argv=("sh", "-c", script),
        mounts=(
            Mount(source=str(odd), target="/in, x"),
            Mount(source=str(out), target="/out", writable=True),
        ),
        env=Pairs({"ODD": "a=$(b), 'c'"}),
    )
    done = apptainer.run(str(small), spec)
    lines = done.out.splitlines()
    assert lines[:6] == ["read", "a=$(b), 'c'", "0", "/", "CapEff:\t0000000000000000", "    lo"]
    assert "Read-only" in lines[6]
    assert "leaked" not in done.out
    assert (out / "w").read_text() == "w\n"
    assert int(lines[-1]) > 64 << 10, "more than apptainer's own 64 MiB"
    assert apptainer.run(str(small), RunSpec(argv=("ls", "/written"))).rc == 2


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (("nope",), 127),
        (("/nope",), 127),
        (("/etc/passwd",), 126),
        (("/",), 126),
        (("sh", "-c", "exit 255"), 255),
        (("sh", "-c", "exit 7"), 7),
    ],
)
def test_codes_are_those_of_a_shell(
    argv: tuple[str, ...], code: int, apptainer: ApptainerEngine, small: Path
) -> None:
    assert apptainer.run(str(small), RunSpec(argv=argv)).rc == code


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (RunSpec(argv=("true",), user="1234"), "as you, not as user 1234"),
        (RunSpec(argv=("true",), mounts=(Mount(source="/nowhere", target="/x"),)), "/nowhere"),
        # Debian's 1.4 has no CDI; and nothing runs without the GPU that was asked for.
        (RunSpec(argv=("true",), access="cdi"), "no GPU access mode 'cdi' here"),
    ],
)
def test_what_it_cannot_do_is_the_machines(
    spec: RunSpec, says: str, apptainer: ApptainerEngine, small: Path
) -> None:
    with pytest.raises(MachineError, match=says):
        apptainer.run(str(small), spec)


def test_a_time_limit_leaves_nothing(apptainer: ApptainerEngine, small: Path) -> None:
    argv = ("sh", "-c", "sleep 4711 & sleep 4711")
    done = apptainer.run(str(small), RunSpec(argv=argv, timeout=1.0))
    assert done.timed_out
    running = subprocess.run(["pgrep", "-f", "sleep 4711"], check=False, capture_output=True)
    assert running.stdout == b""


def test_a_damaged_archive_is_never_unpacked(small: Path, tmp_path: Path) -> None:
    inside = ociarchive.head(small)
    data = bytearray(small.read_bytes())
    at = data.find(inside.layers[0].digest.encode()[7:])
    data[at + (1 << 20)] ^= 1
    bad = tmp_path / "bad.tar"
    bad.write_bytes(data)
    engine = ApptainerEngine(root=tmp_path / "root")
    (tmp_path / "root/.new-left").mkdir(parents=True)
    with pytest.raises((StaleError, InputError)):
        engine.run(str(bad), RunSpec(argv=("true",)))
    assert [path.name for path in (tmp_path / "root").iterdir()] == ["lock"]
    bad.write_bytes(small.read_bytes()[: 1 << 20])
    with pytest.raises(InputError, match="OCI archive"):
        engine.inspect(str(bad))


def with_layer(
    small: Path, folder: Path, *entries: tuple[tarfile.TarInfo, bytes], alone: bool = False
) -> Path:
    """The small image with one more layer, or with that one alone, as another program packs it."""
    layout = folder / "layout"
    subprocess.run(["skopeo", "copy", "-q", f"oci-archive:{small}", f"oci:{layout}:x"], check=True)

    def blob(digest: str) -> Path:
        return layout / ociarchive.place(digest)

    def put(data: bytes) -> tuple[str, int]:
        blob(oci.digest(data)).write_bytes(data)
        return oci.digest(data), len(data)

    index = json.loads((layout / "index.json").read_bytes())
    manifest = json.loads(blob(index["manifests"][0]["digest"]).read_bytes())
    config = json.loads(blob(manifest["config"]["digest"]).read_bytes())
    data = oci.layer(*entries)
    if alone:
        manifest["layers"], config["rootfs"]["diff_ids"] = [], []
    config["rootfs"]["diff_ids"].append(oci.digest(data))
    config.pop("history", None)
    layer = {"mediaType": "application/vnd.oci.image.layer.v1.tar"}
    manifest["layers"].append(layer | dict(zip(("digest", "size"), put(data), strict=True)))
    for value, data in ((manifest["config"], config), (index["manifests"][0], manifest)):
        value["digest"], value["size"] = put(json.dumps(data).encode())
    (layout / "index.json").write_text(json.dumps(index))
    file = folder / "more.tar"
    subprocess.run(["skopeo", "copy", "-q", f"oci:{layout}:x", f"oci-archive:{file}"], check=True)
    return file


def test_what_an_image_brings_for_apptainer_is_never_run(small: Path, tmp_path: Path) -> None:
    """Scripts of its own would say what its config hides: LD_PRELOAD, for one."""
    names = ("01-base", "10-docker2singularity", "90-environment", "94-appsbase", "95-apps",
             "99-base", "99-runtimevars")  # fmt: skip
    places = [f".singularity.d/env/{name}.sh" for name in names]
    places += [".singularity.d/actions/exec", ".singularity.d/runscript", "environment"]
    script = b"export PLANTED=yes\n"
    planted = [oci.entry(place, script, mode=0o755) for place in places]
    engine = ApptainerEngine(root=tmp_path / "root")
    over = with_layer(small, tmp_path, *planted)
    assert "PLANTED" not in engine.run(str(over), RunSpec(argv=("env",))).out
    for number, place in enumerate(("env/91-environment.sh", "env/50-x.sh", "libs/libcuda.so.1")):
        (folder := tmp_path / str(number)).mkdir()
        file = oci.entry(f".singularity.d/{place}", script, mode=0o755)
        bad = with_layer(small, folder, file, alone=True)
        with pytest.raises(ImageError, match="files of its own for apptainer"):
            engine.run(str(bad), RunSpec(argv=("env",)))
    assert len(list((tmp_path / "root").iterdir())) == 2, "the lock, and the one that ran"


def test_run_on_the_command_line(small: Path, env: dict[str, str], tmp_path: Path) -> None:
    env |= {"PATH": os.environ["PATH"]}
    done = envbuild(env, tmp_path, "run", str(small), "--", "sh", "-c", "pwd; exit 5")
    assert (done.returncode, done.stdout) == (5, f"{tmp_path}\n"), done.stderr
    done = envbuild(env, tmp_path, "run", str(small), "--dry-run", "--json", "--", "id")
    argv = json.loads(done.stdout)["argv"]
    assert argv[1] == "exec"
    assert Path(argv[-2]).is_dir()
    done = envbuild(env, tmp_path, "build", "--engine", "apptainer", "--cc", "9.0")
    assert done.returncode == 4
    assert "builds no Dockerfile" in done.stderr


def left(folder: Path) -> list[str]:
    """What of an unpacked image is in a folder, by name."""
    return sorted(path.name for path in folder.iterdir() if path.name != "lock")


def test_a_killed_one_leaves_nothing_for_long(
    small: Path, env: dict[str, str], tmp_path: Path
) -> None:
    """Killed with apptainer, half-way: the next one finds all of it, and runs."""
    env |= {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home")}
    argv = [*CLI, "run", str(small), "--engine", "apptainer", "--", "true"]
    root = tmp_path / ".envbuild/apptainer"
    first = subprocess.Popen(argv, env=env, cwd=tmp_path, stderr=subprocess.DEVNULL)
    begun: tuple[Path, ...] = ()
    while not begun and first.poll() is None:
        begun = tuple(root.glob(".new-*/build-temp-*/rootfs"))
    children = subprocess.run(["pgrep", "-P", str(first.pid)], capture_output=True, check=False)
    for pid in (first.pid, *map(int, children.stdout.split())):
        os.kill(pid, signal.SIGKILL)
    first.wait()
    assert begun
    assert left(root), "there is something to remove"
    assert subprocess.run(argv, env=env, cwd=tmp_path, check=False).returncode == 0
    assert len(left(root)) == 1
    assert left(tmp_path / "tmp") == []
    assert not list((tmp_path / "home").glob(".apptainer/cache/*")), "no copy in the home"


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB."""
    place = tmp_path / "tiny"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", place], check=True)
    yield place
    subprocess.run(["umount", place], check=True)


def test_there_must_be_room_where_the_image_goes_and_nowhere_else(
    small: Path, env: dict[str, str], tiny: Path, tmp_path: Path
) -> None:
    env |= {"PATH": os.environ["PATH"], "TMPDIR": str(tiny)}
    argv = ("run", str(small), "--engine", "apptainer", "--", "true")
    (tmp_path / "here").mkdir()
    done = envbuild(env, tmp_path / "here", *argv)
    assert done.returncode == 0, done.stderr
    done = envbuild(env, tiny, *argv)
    assert done.returncode == 4
    assert f"no room for {small} in {tiny}/.envbuild/apptainer" in done.stderr
    assert left(tiny / ".envbuild/apptainer") == []


@pytest.mark.parametrize("name", ["it's", 'a "b"', "a\nb"])
def test_a_folder_that_apptainer_cannot_spell(name: str, small: Path, tmp_path: Path) -> None:
    (folder := tmp_path / name).mkdir()
    with pytest.raises(MachineError, match="no quote and no line break"):
        ApptainerEngine(root=folder).run(str(small), RunSpec(argv=("true",)))
    assert left(folder) == []


def test_odd_folders_and_archives_and_no_ids_to_map(small: Path, tmp_path: Path) -> None:
    """As an ordinary user of a machine without /etc/subuid."""
    folder = tmp_path / "a: b,=$(x)é %s"
    folder.mkdir()
    odd = folder / "im, age:1.tar"
    odd.write_bytes(small.read_bytes())
    hide = 'mount --bind /dev/null /etc/subuid && mount --bind /dev/null /etc/subgid && exec "$@"'
    argv = ["unshare", "--mount", "sh", "-c", hide, "sh", *NOBODY, *CLI]
    argv += ["run", f"./{odd.name}", "--engine", "apptainer", "--", "id", "-u"]
    env = {**os.environ, "PYTHONPATH": ROOT, "TMPDIR": str(tmp_path)}
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "65534\n"), done.stderr
