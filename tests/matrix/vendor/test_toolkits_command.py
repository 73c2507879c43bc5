"""``envbuild matrix verify`` and ``update`` for toolkits, over a made index, fetched by real pip.

CUDA 99.1 is made: a row in an overlay, and wheels whose ptxas and nvcc are scripts that answer as
those of 13.5.37 were seen to on 2026-12-01. Each test spoils one thing.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lock.server import Answer, Server, publish, serve
from tests.matrix.vendor import made

TAG = "py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64"
PTXAS = b"""#!/bin/sh
case "$1" in
--help) echo "Allowed values: 'compute_75','lto_75','sm_75','sm_90a','sm_120f'."; exit ;;
-arch=sm_120f) echo "fatal   : target is not ready" >&2; exit 255 ;;
esac
grep -q '^.version 9.9$' "$2" && exit
echo "$2, line 1; fatal   : Unsupported .version 99.0; current version is '9.9'" >&2
exit 255
"""
NVCC = b"#!/bin/sh\necho sm_75\necho compute_75\n"
CONFIG = b"""#if __GNUC__ > 17
#error -- unsupported GNU version!
#endif
#if defined(__HORIZON__)
#if (__clang_major__ >= 30) || (__clang_major__ < 3)
#error -- unsupported HOS clang version!
#endif
#endif
#if (__clang_major__ >= 24) || (__clang_major__ < 3)

#error -- unsupported clang version! clang version must be less than 24
#endif
"""
FUNCTIONS = b"""#if __GLIBC_PREREQ(2,41)
extern __device_builtin__ double                 cospi(double x) __THROW_SPECIFIER;
"""
ROW = """
sources: [{id: made, says: made for a test}]
toolkits:
- {cuda: '99.1', targets: ['75', '90a'], gcc_max: GCC, clang_max: 23, ptx: '9.9',
   source: [made], status: sourced}
"""


@pytest.fixture
def server() -> Iterator[Server]:
    with serve() as running:
        yield running


def wheels(folder: Path, version: str) -> list[tuple[str, bytes]]:
    """The compiler of one release: its nvcc and its crt wheel."""
    root = "nvidia/cu99"
    content = {
        "nvidia_cuda_nvcc": {f"{root}/bin/ptxas": PTXAS, f"{root}/bin/nvcc": NVCC},
        "nvidia_cuda_crt": {
            f"{root}/include/crt/host_config.h": CONFIG,
            f"{root}/include/crt/math_functions.h": FUNCTIONS,
        },
    }
    names = {project: f"{project}-{version}-{TAG}.whl" for project in content}
    return [
        (name, made.wheel(folder, name, content[project]).read_bytes())
        for project, name in names.items()
    ]


def offer(server: Server, folder: Path, *versions: str) -> None:
    """These releases on the index."""
    publish(server, "/simple", *(one for version in versions for one in wheels(folder, version)))


def environment(folder: Path, gcc_max: int = 17) -> dict[str, str]:
    rows = folder / "rows"
    rows.mkdir(exist_ok=True)
    (rows / "made.yaml").write_text(ROW.replace("GCC", str(gcc_max)))
    env = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    return env | {"ENVBUILD_MATRICES": str(rows)}


def argv(server: Server | None, folder: Path, *more: str) -> list[str]:
    host = server.host if server else "127.0.0.1:9"
    words = ["--only", "toolkits", "--work", str(folder / "work")]
    words += ["--index-url", f"http://{host}/simple", "--apt-mirror", f"http://{host}/debian"]
    return [sys.executable, "-m", "envbuild", "matrix", *more, *words]


def run(
    server: Server | None, folder: Path, *more: str, gcc_max: int = 17
) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run(
        argv(server, folder, *(more or ("verify", "--json"))),
        capture_output=True, text=True, env=environment(folder, gcc_max), check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    return done


def row(done: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    """The verdict of the made row; every other row of its table is out of this index's reach."""
    rows = [one for one in json.loads(done.stdout)["rows"] if one["table"] == "toolkits"]
    assert {one["verdict"] for one in rows if one["key"] != "99.1"} == {"not reachable"}
    found: dict[str, Any] = next(one for one in rows if one["key"] == "99.1")
    return found


def test_a_row_agrees_and_each_fact_was_read(server: Server, tmp_path: Path) -> None:
    offer(server, tmp_path, "99.1.5")
    done = run(server, tmp_path)
    one = row(done)
    assert (one["verdict"], one["status"]) == ("agrees", "sourced")
    assert set(one["compared"]) == {"targets", "ptx", "gcc_max", "clang_max"}
    report = json.loads(done.stdout)
    hashes = {file["file"]: file["sha256"] for file in report["files"]}
    assert set(one["read"]) <= set(hashes)
    assert not list((tmp_path / "work").rglob("*.whl"))


def test_a_row_that_differs_is_exit_7_and_names_both_values(server: Server, tmp_path: Path) -> None:
    offer(server, tmp_path, "99.1.5")
    done = run(server, tmp_path, gcc_max=18)
    assert done.returncode == 7
    assert row(done)["differences"] == [{"field": "gcc_max", "row": "18", "measured": "17"}]
    shown = run(server, tmp_path, "verify", gcc_max=18)
    assert "toolkits/99.1  gcc_max: the row says 18, measured 17" in shown.stdout


def test_older_releases_that_differ_are_told(server: Server, tmp_path: Path) -> None:
    old = wheels(tmp_path, "99.1.4")
    name, _ = old[1]
    content = {"nvidia/cu99/include/crt/host_config.h": CONFIG.replace(b"> 17", b"> 16")}
    old[1] = (name, made.wheel(tmp_path, name, content).read_bytes())
    publish(server, "/simple", *old, *wheels(tmp_path, "99.1.5"))
    one = row(run(server, tmp_path))
    assert (one["verdict"], one["why"]) == ("agrees", "gcc_max of 99.1.4 is 16")


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda data: Answer(data[:-40]), "hash"),
        (lambda data: Answer(data[:-40], headers={"Content-Length": str(len(data))}), ""),
        (lambda data: Answer(data + b"more"), "hash"),
        (lambda _: Answer(b"gone", 404), "404"),
    ],
    ids=["shorter", "cut", "other", "missing"],
)
def test_a_wheel_that_does_not_come_is_named_and_exit_4(
    answer: Callable[[bytes], Answer], says: str, server: Server, tmp_path: Path
) -> None:
    offer(server, tmp_path, "99.1.5")
    path = f"/files/simple/nvidia_cuda_nvcc-99.1.5-{TAG}.whl"
    server.answers[path] = answer(server.answers[path].body)
    done = run(server, tmp_path)
    assert done.returncode == 4
    assert row(done)["verdict"] == "not reachable"
    line = next(line for line in done.stderr.splitlines() if "did not come" in line)
    assert f"nvidia_cuda_nvcc-99.1.5-{TAG}.whl" in line
    assert says in line.lower()
    assert len([asked for asked, _ in server.asked if asked == path]) >= 3
    offer(server, tmp_path, "99.1.5")
    mended = run(server, tmp_path)
    assert row(mended)["verdict"] == "agrees"
    assert "did not come" not in mended.stderr


def test_a_run_that_was_killed_goes_on(server: Server, tmp_path: Path) -> None:
    offer(server, tmp_path, "99.1.3", "99.1.4", "99.1.5")
    work = tmp_path / "work"
    process = subprocess.Popen(
        argv(server, tmp_path, "verify"), env=environment(tmp_path),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    end = time.monotonic() + 60
    while not list(work.glob("*.compiler-*.json")) and time.monotonic() < end:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait(60)
    assert process.returncode == -signal.SIGKILL
    kept = [path.name.partition(".")[0] for path in work.glob("*.compiler-*.json")]
    assert 0 < len(kept) < 6
    server.asked.clear()
    done = run(server, tmp_path)
    assert row(done)["verdict"] == "agrees"
    again = {path.rpartition("/")[2] for path, _ in server.asked if path.endswith(".whl")}
    files = {file["file"]: file["sha256"] for file in json.loads(done.stdout)["files"]}
    assert again == {name for name, sha in files.items() if sha not in kept}
    assert not list(work.glob(".fetch-*"))


def test_offline_reads_what_was_kept_and_nothing_else(server: Server, tmp_path: Path) -> None:
    offer(server, tmp_path, "99.1.5")
    assert run(server, tmp_path, "verify", "--offline").returncode == 4
    first = run(server, tmp_path)
    server.asked.clear()
    again = run(server, tmp_path, "verify", "--json", "--offline")
    assert row(again) == row(first)
    assert "fetch" not in again.stderr
    assert server.asked == []


def test_results_of_another_version_are_read_again(server: Server, tmp_path: Path) -> None:
    offer(server, tmp_path, "99.1.5")
    first = run(server, tmp_path)
    for path in (tmp_path / "work").glob("*.compiler-*.json"):
        path.write_bytes(b'{"version": "99')
    server.asked.clear()
    assert row(run(server, tmp_path)) == row(first)
    assert len([path for path, _ in server.asked if path.endswith(".whl")]) == 2


def test_an_index_that_does_not_answer_is_exit_4(tmp_path: Path) -> None:
    done = run(None, tmp_path)
    assert (done.returncode, done.stdout) == (4, "")
    assert "127.0.0.1:9 does not answer" in done.stderr


@pytest.mark.parametrize("words", [("verify",), ("update",)])
@pytest.mark.parametrize("page", [None, b"<html><a href='/login'>log in</a></html>"])
def test_an_address_that_is_no_index_is_exit_4(
    words: tuple[str, ...], page: bytes | None, server: Server, tmp_path: Path
) -> None:
    if page is not None:
        for part in ("nvcc", "nvcc-cu10", "nvcc-cu11", "nvcc-cu12", "crt"):
            server.put(f"/simple/nvidia-cuda-{part}/", page, "text/html")
    done = run(server, tmp_path, *words)
    assert done.returncode == 4
    assert "/simple lists no wheel of " in done.stderr
    assert "not to a login page" in done.stderr
    assert done.stdout == ""
    assert not (tmp_path / "matrix-update.yaml").exists()


def test_a_ptxas_that_does_not_run_is_no_agreement(server: Server, tmp_path: Path) -> None:
    both = wheels(tmp_path, "99.1.5")
    name, _ = both[0]
    content = {"nvidia/cu99/bin/ptxas": b"\x7fELF, for another machine"}
    both[0] = (name, made.wheel(tmp_path, name, content).read_bytes())
    publish(server, "/simple", *both)
    one = row(run(server, tmp_path))
    assert one["verdict"] == "cannot be measured"
    assert "ptxas does not run on this machine" in one["why"]


def test_new_releases_become_rows_that_load(server: Server, tmp_path: Path) -> None:
    offer(server, tmp_path, "99.1.5", "99.2.7")
    out = tmp_path / "new.yaml"
    done = run(server, tmp_path, "update", "-o", str(out))
    assert done.returncode == 0, done.stderr
    assert "1 new rows" in done.stderr
    text = out.read_text()
    name = f"nvidia_cuda_nvcc-99.2.7-{TAG}.whl"
    assert f"{name}, sha256 " in text
    rows = tmp_path / "more"
    rows.mkdir()
    (rows / "new.yaml").write_text(text)
    asked = "from envbuild.matrix.load import load; r = load().toolkits[-1]; "
    asked += "print(r.cuda, r.targets, r.gcc_max, r.clang_max, r.ptx, r.status, len(r.source))"
    seen = subprocess.run(
        [sys.executable, "-c", asked], capture_output=True, text=True, check=True,
        env=os.environ | {"ENVBUILD_MATRICES": str(rows)},
    )  # fmt: skip
    assert seen.stdout == "99.2 ('75', '90a') 17 23 9.9 measured 2\n"


def test_a_release_that_cannot_be_measured_is_left_out_by_name(
    server: Server, tmp_path: Path
) -> None:
    name, _ = wheels(tmp_path, "99.2.7")[0]
    bad = made.wheel(tmp_path, name, {"nvidia/cu99/bin/ptxas": b"\x7fELF"}).read_bytes()
    publish(server, "/simple", *wheels(tmp_path, "99.1.5"), (name, bad))
    done = run(server, tmp_path, "update", "-o", "-")
    assert done.returncode == 0
    assert "# left out: toolkits/99.2: its ptxas does not run" in done.stdout
    both = run(server, tmp_path, "update", "--json", "-o", "-")
    assert json.loads(both.stdout)["skipped"][0]["key"] == "99.2"


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("verify", "--only", "tolkits"), 2, "did you mean toolkits?"),
        (("verify", "--only", "§"), 2, "one of "),
        (("verify", "--only", ","), 2, "--only '' is not known"),
        (("update", "--only", "nothing"), 2, "'nothing' is not known"),
        (("verify", "--index-url", "nowhere"), 2, "--index-url"),
        (("verify", "--ca-cert", "/nowhere.pem"), 2, "--ca-cert"),
        (("verify", "--work", "/dev/null/x"), 4, "/dev/null/x"),
        (("verify", "-o", "/dev/null/x.json"), 4, "/dev/null/x.json"),
        (("verify", "-o", "/tmp"), 2, "/tmp is a folder"),
        (("frobnicate",), 2, "No such command 'frobnicate'"),
    ],
)
def test_nonsense(
    words: tuple[str, ...], code: int, says: str, server: Server, tmp_path: Path
) -> None:
    offer(server, tmp_path, "99.1.5")
    done = subprocess.run(
        [sys.executable, "-m", "envbuild", "matrix", words[0],
         *(() if words == ("frobnicate",) else argv(server, tmp_path)[4:]), *words[1:]],
        capture_output=True, text=True, env=environment(tmp_path), check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert (done.returncode, says in done.stderr) == (code, True), done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small disk")
def test_a_full_disk_is_exit_4_and_what_was_read_stays(server: Server, tmp_path: Path) -> None:
    noise = {"nvidia/cu99/include/noise.bin": os.urandom(12 << 20)}
    name = f"nvidia_cuda_nvcc-99.1.6-{TAG}.whl"
    big = made.wheel(tmp_path, name, noise).read_bytes()
    publish(server, "/simple", *wheels(tmp_path, "99.1.5"), (name, big))
    work = tmp_path / "work"
    work.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(work)], check=False
    )
    if mounted.returncode:
        pytest.skip("this machine lets nobody mount")
    try:
        done = run(server, tmp_path)
        assert done.returncode == 4
        assert f"{name} cannot be stored" in done.stderr
        assert "--work" in done.stderr
        assert list(work.glob("*.compiler-*.json"))
    finally:
        subprocess.run(["umount", str(work)], check=True)
