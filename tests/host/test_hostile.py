"""Machines that mislead, hang or flood, and what must not happen on them."""

import ctypes
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from envbuild.host import kernel, libraries, packages, usage
from envbuild.host.detect import detect
from envbuild.host.look import Look, run_limited
from envbuild.host.mounts import Mounts, parse_mounts
from envbuild.values.codec import dump
from tests.host.fakes import only, script
from tests.host.machines import MACHINES

ROOT = Path(__file__).parent.parent.parent
# What detect reads, as far as a file of that name can be made to hold anything.
READ = (
    "etc/os-release", "proc/version", "proc/modules", "proc/devices", "proc/cmdline",
    "proc/meminfo", "proc/driver/nvidia/version", "proc/driver/nvidia/params", "proc/1/comm",
    "proc/1/cgroup",
    "proc/self/status", "proc/self/limits", "proc/self/mounts", "proc/device-tree/compatible",
    "sys/bus/pci/devices/0000:01:00.0/vendor", "sys/bus/pci/devices/0000:01:00.0/device",
    "sys/bus/pci/devices/0000:01:00.0/class", "sys/module/nvidia/version",
    "sys/fs/selinux/enforce", "sys/kernel/security/lockdown",
    "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c",
    "etc/nv_tegra_release", "etc/ld.so.cache", "etc/cdi/nvidia.yaml", "etc/cdi/nvidia.json",
    "etc/docker/daemon.json", "etc/nvidia-container-runtime/config.toml", "etc/wsl.conf",
    "etc/modprobe.d/nvidia.conf", "etc/apt/sources.list.d/cuda.list", "etc/apt/preferences",
    "etc/apt/sources.list.d/cuda.sources", "etc/group", "etc/dnf/versionlock.toml",
    "var/lib/dpkg/status", "usr/local/cuda-13.0/version.json", "run/docker.pid",
)  # fmt: skip
HOSTILE = {
    "binary": bytes(range(256)) * 40,
    "long": b"nvidia " * 1_500_000,
    "line": b"a" * 10_000_000,
    "blanks": b" " * 2_000_000 + b":" * 1000,
    "quotes": b'"' * 300_000 + b"[" * 300_000,
    "escapes": b"\x1b[2J\x1b]0;title\x07 nvidia NVRM: \xe2\x80\xae\x00\x08",
    "empty": b"",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_files_of_any_content(kind: str, tmp_path: Path) -> None:
    for name in READ:
        place = tmp_path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(HOSTILE[kind])
    start = time.monotonic()
    host = detect(tmp_path, environ={"HOME": "/home/x", "PATH": "/usr/bin"}, system="Linux")
    assert time.monotonic() - start < 60
    text = dump(host).decode()
    assert "\x1b" not in text
    assert "\\u001b" not in text
    assert len(text) < 200_000
    lost = [p for p in host.probes if not p.ok and "Error" in p.says]
    assert lost == []


@pytest.mark.parametrize("trap", ["loop", "folder", "unreadable", "fifo", "dangling"])
def test_places_that_are_no_files(trap: str, tmp_path: Path) -> None:
    for name in READ:
        place = tmp_path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if trap == "loop":
            place.symlink_to(place)
        elif trap == "folder":
            place.mkdir()
        elif trap == "fifo":
            os.mkfifo(place)
        elif trap == "dangling":
            place.symlink_to("/nonexistent/target")
        else:
            place.write_text("x")
            place.chmod(0)
    (tmp_path / "usr/local").mkdir(parents=True, exist_ok=True)
    (tmp_path / "usr/local/cuda").symlink_to(tmp_path / "usr/local/cuda")
    host = detect(tmp_path, environ={"PATH": "/usr/local/cuda/bin"}, system="Linux")
    assert [p for p in host.probes if not p.ok and "Error" in p.says] == []


TOOLS = ("docker", "podman", "apptainer", "gcc", "clang", "nvcc", "nvidia-ctk", "modinfo", "dmesg")


@pytest.mark.parametrize(
    ("body", "seconds"),
    [
        ("exit 255", 15.0),
        ("head -c 3000 /dev/urandom; exit 0", 15.0),
        ("printf '\\033[2J{\"ServerVersion\": 3}'", 15.0),
        ("kill -SEGV $$", 15.0),
        ("sleep 7656.5 & sleep 7656.5", 15.0),
        ("while :; do echo nvidia 1.2.3; done", 15.0),
    ],
)
def test_programs_that_do_anything(body: str, seconds: float, tmp_path: Path) -> None:
    for name in (*TOOLS, "systemctl", "rpm", "reg.exe", "wsl.exe"):
        script(tmp_path, name, body)
    start = time.monotonic()
    host = detect(environ=only(tmp_path))
    assert time.monotonic() - start < seconds
    assert "\\u001b" not in dump(host).decode()
    assert [p for p in host.probes if "Error" in p.says] == []
    left = [p for p in Path("/proc").glob("[0-9]*/cmdline") if b"7656.5" in _read(p)]
    assert left == []


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_a_probe_has_two_seconds_for_all_its_programs(tmp_path: Path) -> None:
    for number in range(4, 14):
        script(tmp_path, f"gcc-{number}", "exec /bin/sleep 60")
    start = time.monotonic()
    host = detect(environ={"PATH": str(tmp_path)})
    assert time.monotonic() - start < 12
    says = [p.says for p in host.probes if p.name == "compilers"]
    assert len(says) == 10
    assert all("no answer in time" in text for text in says)


def test_a_probe_that_never_comes_back_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "probe", lambda _: time.sleep(30))
    environ = {"PATH": "", "ENVBUILD_PROBE_TIMEOUT": "0.5"}
    start = time.monotonic()
    host = detect(tmp_path, environ=environ, system="Linux")
    assert time.monotonic() - start < 8
    assert [p.says for p in host.probes if p.name == "kernel"] == [
        "something that it looks at does not come back"
    ]


@pytest.fixture
def dead(tmp_path: Path) -> Iterator[Path]:
    """A file system that never answers: FUSE with nobody behind it."""
    point = tmp_path / "dead server"
    point.mkdir()
    try:
        device = os.open("/dev/fuse", os.O_RDWR)
    except OSError:
        pytest.skip("no FUSE here")
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()
    if libc.mount(b"x", os.fsencode(point), b"fuse.dead", 0, options):
        os.close(device)
        pytest.skip("no right to mount")
    try:
        yield point
    finally:
        # Closing the device ends every wait in it.
        os.close(device)
        libc.umount2(os.fsencode(point), 2)


AND_ENDS = """
import json, sys
from envbuild.host.detect import detect
from envbuild.values.codec import dump
print(dump(detect(environ=json.loads(sys.argv[1]))).decode())
"""


def test_a_dead_mount_costs_its_own_paths_only(dead: Path, tmp_path: Path) -> None:
    """And the process ends, whatever still waits there."""
    script(tmp_path / "bin", "gcc", "echo 13.3.0")
    (tmp_path / "link").symlink_to(dead)
    environ = {
        "PATH": f"{dead}:{tmp_path}/link/bin:{tmp_path}/bin:/usr/bin:/bin",
        "CUDA_HOME": f"{dead}/cuda",
        "LD_LIBRARY_PATH": f"{dead}/lib",
        "HOME": f"{dead}/home",
    }
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", AND_ENDS, json.dumps(environ)],
        cwd=ROOT, capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    assert time.monotonic() - start < 15
    host = json.loads(done.stdout)
    assert [p["says"] for p in host["probes"] if p["name"] == "mount"] == [
        f"{dead} (fuse.dead) does not answer"
    ]
    assert ("gcc", "13.3.0") in {(t["name"], t["version"]) for t in host["compilers"]}


def test_mounts_that_are_asked() -> None:
    points = parse_mounts(
        "srv:/a /nfs nfs4 rw 0 0\nx /sshfs fuse.sshfs rw 0 0\nC: /mnt/c 9p rw 0 0\n"
        "/dev/sda1 / ext4 rw 0 0\nsrv:/root / nfs rw 0 0\nsrv:/b /over nfs rw 0 0\n"
        "tmpfs /over tmpfs rw 0 0\nbad\n"
    )
    assert points == {"/nfs": "nfs4", "/sshfs": "fuse.sshfs", "/mnt/c": "9p"}


def test_a_live_mount_is_asked_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[str] = []
    monkeypatch.setattr("envbuild.host.mounts._own_mounts", lambda: f"s:/x {tmp_path} nfs rw 0 0\n")
    monkeypatch.setattr(os, "statvfs", asked.append)
    mounts = Mounts()
    assert mounts.answer(f"{tmp_path}/a", 2.0)
    assert mounts.answer(f"{tmp_path}/b/../c", 2.0)
    assert mounts.answer("/usr/bin", 2.0)
    assert asked == [str(tmp_path)]
    assert mounts.dead == ()


def test_nothing_is_written(tmp_path: Path) -> None:
    """Every file that this process or a program of its opens to write, makes, moves or removes."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("no strace here")
    log = tmp_path / "log"
    calls = "openat,open,creat,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,rmdir"
    calls += ",symlink,symlinkat,link,linkat,truncate,chmod,fchmodat,chown,utimensat,mknod,mknodat"
    home = tmp_path / "home"
    home.mkdir()
    done = subprocess.run(
        [strace, "-f", "-qq", "-e", f"trace={calls}", "-e", "signal=none", "-o", str(log),
         sys.executable, "-B", "-m", "envbuild", "detect", "--json"],
        cwd=ROOT, env=os.environ | {"HOME": str(home)}, capture_output=True, timeout=120,
        check=False,
    )  # fmt: skip
    if done.returncode and "ptrace" in done.stderr.decode():
        pytest.skip("no right to trace")
    assert json.loads(done.stdout)["schema"] == "envbuild/host/1"
    assert [line for line in log.read_text("utf-8", "replace").splitlines() if _writes(line)] == []
    assert list(home.iterdir()) == []


def _writes(line: str) -> bool:
    if " = -1 " in line or "/dev/null" in line:
        return False
    # The end of a process, and a call that strace saw neither begin nor end.
    if "+++" in line or "???(" in line:
        return False
    # Go programs take the terminal or a pipe of their own this way; both are no files.
    if '"/dev/tty"' in line or '"/proc/self/' in line:
        return False
    opened = "open" in line.partition("(")[0]
    return not opened or any(flag in line for flag in ("O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"))


def test_the_loader_s_cache_of_this_machine() -> None:
    cache = Path("/etc/ld.so.cache")
    ldconfig = shutil.which("ldconfig", path="/sbin:/usr/sbin")
    if not cache.exists() or ldconfig is None:
        pytest.skip("no glibc here")
    listed = subprocess.run([ldconfig, "-p"], capture_output=True, text=True, check=True).stdout
    ours = [
        line.rpartition("=> ")[2]
        for line in listed.splitlines()
        if line.startswith("\tlibc.so.6 ") and "64" in line
    ]
    found = libraries.parse_cache(cache.read_bytes(), ("libc.so.6",))
    assert [path for _, path in found] == ours
    assert ours


def test_dpkg_of_this_machine() -> None:
    status = Path("/var/lib/dpkg/status")
    if not status.exists():
        pytest.skip("no dpkg here")
    found = dict(packages.parse_dpkg(status.read_bytes()).versions)
    for name, version in found.items():
        query = ["dpkg-query", "-W", "-f", "${Version}\n", name]
        done = subprocess.run(query, capture_output=True, text=True, check=True)
        assert version in done.stdout.splitlines()


def test_children_write_no_compiled_files(tmp_path: Path) -> None:
    for sign in ("dev/nvidiactl",):
        (tmp_path / sign).parent.mkdir(parents=True)
        (tmp_path / sign).touch()
    asked: list[list[str]] = []

    def runner(argv, env, limit):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        asked.append(list(argv))
        return run_limited(["false"], env, limit)

    look = Look(tmp_path, {"PATH": ""}, "Linux", runner)
    usage.probe(look, "before")
    detect(tmp_path, environ={"PATH": ""}, runner=runner, system="Linux")
    children = [argv for argv in asked if argv[0] == sys.executable]
    assert len(children) == 2
    assert all(argv[1] == "-Bc" for argv in children)


def test_made_machines_touch_nothing_of_this_one(tmp_path: Path) -> None:
    """The record of a fake root holds nothing that only this machine has."""
    host = MACHINES["wsl1"].detect(tmp_path)
    assert str(tmp_path) not in dump(host).decode()
    assert host.limits.cpus is None
    assert host.root is None
