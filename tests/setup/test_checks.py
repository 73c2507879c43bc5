"""Each check of a guide, run: it holds on a machine that is ready, and fails on one that is not.

The machines are *made*: programs that print what the real ones print, in a folder of their own,
and files below a made root whose paths stand in the check instead of the machine's.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from envbuild.advice.guide import check
from envbuild.values.guide import Section
from envbuild.values.request import Wish
from tests.setup.machines import machines
from tests.setup.made import asked, of_machine, section

NO_SMI = "#!/bin/sh\necho No devices were found\nexit 6\n"
OPEN = {"proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX Open Kernel Module"}
PROPRIETARY = {"proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module"}
ROOTS = ("/usr/lib/wsl/lib", "/usr/local/cuda-", "/proc/driver", "/run/systemd", "/etc/nv_tegra")
WSL = asked("wsl2", cc=("8.9",), cuda="13.0")
PASCAL = asked("debian", cc=("6.1",), base_os="debian12")
BLACKWELL = asked("ubuntu", cc=("12.0",), base_os="ubuntu24.04")
ADA = asked("ubuntu", cc=("8.9",), base_os="ubuntu24.04", where="host")
JETSON = asked("jetson", cc=("8.7",), l4t="36.4")
RENTED = asked("rented", cc=("6.1",))
PODMAN = asked("debian", cc=("8.6",), base_os="debian12", way="podman")
BUILDER = of_machine("debian12-builder")
NATIVE = of_machine("gtx1080ti-no-driver")
TORCH = asked("ubuntu", cc=("8.9",), packages=(Wish(name="torch"),))
NANO = of_machine("nano-r32.7")
DESKTOP = of_machine("windows-no-driver")
RPM = asked("rhel", cc=("6.1",), base_os="rockylinux9")

Files = dict[str, str]


def program(text: str) -> str:
    return f"#!/bin/sh\n{text}\n"


def smi(driver: str, at: str = "bin") -> Files:
    text = f'case "$*" in *driver_version*) echo {driver} ;; *) echo "GPU 0: x (UUID: y)" ;; esac'
    return {f"{at}/nvidia-smi": program(text)}


def modinfo(version: str, licence: str) -> Files:
    text = f'case "$*" in *license*) echo {licence} ;; *) echo {version} ;; esac'
    return {"bin/modinfo": program(text)}


def nvcc(release: str) -> Files:
    text = f"echo Cuda compilation tools, release {release}, V{release}.1"
    return {"usr/local/cuda-13.0/bin/nvcc": program(text)}


def docker(text: str) -> Files:
    return {"bin/docker": program(text)}


def candidates(*versions: str) -> Files:
    lines = "".join(f"  Candidate: {one}\\n" for one in versions)
    return {"bin/apt-cache": program(f"printf '{lines}'")}


def packages(*lines: str) -> Files:
    return {"bin/dpkg-query": program("\n".join(f"echo '{line}'" for line in lines))}


def signed(says: str) -> Files:
    return {"bin/od": program("echo ' 6 0 0 0 1'"), "bin/modinfo": program(says)}


def listed(version: str) -> Files:
    return {"bin/dnf": program(f"echo 'nvidia-driver.x86_64 3:{version}-1.el9 cuda'")}


def certificate(verdict: str = "pass", exit: int = 0, name: str = "smoke") -> Files:
    """The first lines of a recorded one and the suite that is asked for, as it is written."""
    suite = {"name": name, "required": True, "verdict": verdict, "checks": []}
    text = json.dumps({"verdict": verdict, "exit": exit, "suites": [suite]}, indent=2)
    return {".envbuild/certificate.json": text}


def python(total: str) -> Files:
    """A Python with a torch whose sum is this."""
    torch = f"class ones:\n    def __init__(*a, **k): pass\n    sum = item = lambda s: S({total})\n"
    torch += "class S(int):\n    item = lambda s: int(s)\n"
    run = 'PYTHONPATH="$HOME/lib" exec /usr/bin/env python3 "$@"'
    return {"envbuild-torch/bin/python": program(run), "lib/torch.py": torch}


CASES: list[tuple[Section, Files, Files]] = [
    (
        section(PODMAN, "podman"),
        {"bin/podman": program("echo 4.3.1")},
        {"bin/podman": program("echo 3.4.4")},
    ),
    (
        section(WSL, "gpu"),
        smi("581.42", "usr/lib/wsl/lib"),
        {"usr/lib/wsl/lib/nvidia-smi": NO_SMI},
    ),
    (
        section(WSL, "no-linux-driver"),
        packages("ii  nvidia-container-toolkit", "un  cuda-drivers"),
        packages("ii  libnvidia-compute-535", "ii  bash"),
    ),
    (section(WSL, "no-linux-driver"), packages("ii  bash"), packages("ii  nvidia-cuda-toolkit")),
    (section(WSL, "systemd"), {"run/systemd/system/x": ""}, {}),
    (section(WSL, "docker"), docker("echo Ubuntu 24.04"), docker("echo Docker Desktop")),
    (section(PASCAL, "docker"), docker("echo Debian"), docker("exit 1")),
    # What a client prints that reaches no daemon.
    (section(PASCAL, "docker"), docker("echo Debian"), docker("echo; exit 1")),
    (section(BUILDER, "certified"), certificate(), certificate(verdict="fail", exit=6)),
    (section(BUILDER, "certified"), certificate(), certificate(name="toolchain")),
    (section(RENTED, "local"), certificate(), {".envbuild/certificate.json": "{}"}),
    (section(NATIVE, "host-compiler"), {"bin/g++-13": program("echo g++ 13.3")}, {}),
    (section(TORCH, "torch"), python("1000"), python("0")),
    (section(NANO, "default-runtime"), docker("echo nvidia"), docker("echo runc")),
    (section(DESKTOP, "desktop-smoke"), docker("echo ok RTX 4090"), docker("echo FAIL cudaMalloc")),
    (
        section(WSL, "container-toolkit"),
        {"bin/nvidia-ctk": program("echo nvidia.com/gpu=all")},
        {"bin/nvidia-ctk": program("echo amd.com/gpu=all")},
    ),
    (
        section(WSL, "container-gpu"),
        docker('case "$*" in *"--device nvidia.com/gpu=all"*) echo GPU 0: x ;; esac'),
        docker("echo could not select device driver >&2; exit 125"),
    ),
    (section(WSL, "toolkit"), nvcc("13.0"), nvcc("12.4")),
    (section(PASCAL, "driver"), modinfo("580.173.02", "NVIDIA"), modinfo("525.60.12", "NVIDIA")),
    (section(PASCAL, "driver"), modinfo("525.60.13", "NVIDIA"), modinfo("590.48.01", "NVIDIA")),
    (
        section(PASCAL, "driver"),
        modinfo("580.95.05", "NVIDIA"),
        modinfo("580.95.05", "Dual MIT/GPL"),
    ),
    (
        section(BLACKWELL, "driver"),
        modinfo("595.91.07", "Dual MIT/GPL"),
        modinfo("595.91.07", "NVIDIA"),
    ),
    (section(PASCAL, "driver-runs"), smi("580.95.05") | PROPRIETARY, smi("580.95.05") | OPEN),
    (
        section(PASCAL, "driver-runs"),
        smi("580.173.02") | PROPRIETARY,
        smi("590.48.01") | PROPRIETARY,
    ),
    (section(BLACKWELL, "driver-runs"), smi("595.91.07") | OPEN, {"bin/nvidia-smi": NO_SMI} | OPEN),
    (section(PASCAL, "secure-boot"), signed("echo DKMS module signing key"), signed("true")),
    (
        section(PASCAL, "rootless"),
        docker('case "$*" in *rootless*) echo "[name=seccomp name=rootless]" ;; esac'),
        docker("echo '[name=seccomp]'"),
    ),
    (
        section(PASCAL, "hold-driver"),
        candidates("580.173.02-1", "(none)"),
        candidates("580.173.02-1", "595.91.07-1"),
    ),
    (section(PASCAL, "hold-driver"), candidates("1:580.95.05"), candidates("2:590.48.01-1")),
    (section(RPM, "hold-driver"), listed("580.173.02"), listed("595.91.07")),
    (section(WSL, "smoke"), docker("echo ok RTX 4090"), docker("echo FAIL cudaMalloc")),
    (
        section(ADA, "smoke"),
        {"envbuild-smoke/smoke": program("echo ok x")},
        {"envbuild-smoke/smoke": program("echo 'FAIL x'; exit 1")},
    ),
    (section(ADA, "nsys"), {"envbuild-smoke/timeline.nsys-rep": "x"}, {}),
    (section(ADA, "ncu"), {"envbuild-smoke/counters.ncu-rep": "x"}, {"envbuild-smoke/x": ""}),
    (
        section(JETSON, "l4t"),
        {"etc/nv_tegra_release": "# R36 (release), REVISION: 4.0, GCID: 1, BOARD: generic"},
        {"etc/nv_tegra_release": "# R35 (release), REVISION: 4.1, GCID: 1, BOARD: generic"},
    ),
    (
        section(JETSON, "container-toolkit"),
        docker("echo io.containerd.runc.v2 nvidia runc"),
        docker("echo io.containerd.runc.v2 runc"),
    ),
    (
        section(JETSON, "container-gpu"),
        docker('case "$*" in *--runtime=nvidia*) ;; *) exit 1 ;; esac'),
        docker("exit 125"),
    ),
    (section(RENTED, "driver"), smi("570.86.15"), smi("470.256.02")),
    (section(RENTED, "hold-provider"), smi("580.95.05"), smi("595.45.04")),
    (
        section(RENTED, "counters"),
        {"proc/driver/nvidia/params": "X: 1\nRmProfilingAdminOnly: 0\n"},
        {"proc/driver/nvidia/params": "RmProfilingAdminOnly: 1\n"},
    ),
]


def holds(one: Section, files: Files, root: Path) -> bool:
    """Whether the check holds on a machine of these files."""
    shutil.rmtree(root, ignore_errors=True)
    (root / "bin").mkdir(parents=True)
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    test = one.test
    for prefix in ROOTS:
        test = test.replace(prefix, f"{root}{prefix}")
    env = {"PATH": f"{root}/bin:/usr/bin:/bin", "HOME": str(root), "LC_ALL": "C"}
    results = set()
    for shell in ("sh", "bash"):
        argv = [shell, "-c", test]
        done = subprocess.run(argv, env=env, capture_output=True, check=False, cwd=root)
        results.add(done.returncode == 0)
    assert len(results) == 1, "sh and bash differ"
    return results.pop()


@pytest.mark.parametrize(
    ("one", "ready", "broken"), CASES, ids=[f"{n}-{c[0].id}" for n, c in enumerate(CASES)]
)
def test_a_check_tells_ready_from_broken(
    one: Section, ready: Files, broken: Files, tmp_path: Path
) -> None:
    assert holds(one, ready, tmp_path / "ready")
    assert not holds(one, broken, tmp_path / "broken")


NOTHING_WANTED = {"no-linux-driver", "hold-driver", "secure-boot"}
"""What holds where nothing is installed."""


@pytest.mark.parametrize("one", {c[0].id: c[0] for c in CASES}.values(), ids=lambda one: one.id)
def test_a_check_where_nothing_is_there(one: Section, tmp_path: Path) -> None:
    nothing = {**docker("exit 127"), "bin/podman": program("exit 127")}
    assert holds(one, nothing, tmp_path / "empty") == (one.id in NOTHING_WANTED)


def test_every_check_of_linux_is_run_here() -> None:
    run = {case[0].id for case in CASES}
    every = {
        one.id for name in machines() for one in of_machine(name).sections if one.runs_in == "sh"
    }
    assert every <= run


def test_a_check_runs_from_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "docker").write_text(program("exit 1"))
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    results = {one.id: one for one in check.checked(of_machine("windows-rtx4070"))}
    assert results["docker"].ok is False
    assert results["docker"].says
    assert results["windows"].ok is None  # PowerShell is not here
