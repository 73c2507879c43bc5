"""The bash of a guide, run: real systems and a real apt, with the vendors' repositories made.

What only a GPU, Windows or a vendor's host has is made: the driver's programs, docker's and the
container toolkit's, in packages of their names (`tests.setup.shop`); `systemctl`, since no
container starts systemd.
"""

import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from envbuild.cli.app import run
from tests.lock import serving, vendor
from tests.setup.shop import Deb, flat, suite

pytestmark = [pytest.mark.engine, pytest.mark.apart]

NVCC = "#!/bin/sh\necho 'Cuda compilation tools, release 12.9, V12.9.86'\n"
CTK = """#!/bin/sh
case "$*" in
  "runtime configure --runtime=docker") mkdir -p /etc/docker; echo x >/etc/docker/daemon.json ;;
  "cdi generate --output=/etc/cdi/nvidia.yaml") mkdir -p /etc/cdi; echo x >/etc/cdi/nvidia.yaml ;;
  "cdi list") [ -e /etc/cdi/nvidia.yaml ] && echo nvidia.com/gpu=all ;;
  *) echo "made nvidia-ctk: $*" ;;
esac
"""
DOCKER = """#!/bin/sh
[ -e /run/docker-started ] || { echo 'Cannot connect to the Docker daemon' >&2; exit 1; }
case "$*" in
  info*) echo Debian GNU/Linux ;;
  *gpu=all*nvidia-smi*) [ -e /etc/cdi/nvidia.yaml ] && echo 'GPU 0: made (UUID: x)' ;;
  *gpu=all*smoke*) [ -s "$HOME/envbuild-smoke/smoke.cu" ] && echo 'ok made (6.1)' ;;
esac
"""
SYSTEMCTL = """#!/bin/sh
case "$*" in *docker*) touch /run/docker-started ;; esac
"""
TRAPS = (
    "cuda-drivers",
    "cuda",
    "cuda-12-9",
    "nvidia-driver-580",
    "libcuda1",
    "libnvidia-compute-580",
)
OVERLAY = """repositories:
- {{kind: apt, name: wsl-ubuntu, oses: [debian12], platform: wsl2, cuda_min: '11.7',
   package: 'cuda-toolkit-{{major}}-{{minor}}', url: '{url}/cuda/', key: {key}, key_file: key.asc,
   never: [cuda, '/^cuda-[0-9]+-[0-9]+$/', 'cuda-drivers*', 'nvidia-*', 'libnvidia-*', 'libcuda1*'],
   source: [wsl-guide], status: sourced}}
engine_packages:
- {{engine: docker, name: debian, oses: [debian12, debian13], url: '{url}/docker', key: {key},
   key_url: '{url}/docker/gpg', packages: [docker-ce, docker-ce-cli], conflicts: [docker.io],
   source: [docker-debian], status: sourced}}
container_packages:
- {{manager: apt, systems: [debian, ubuntu], url: '{url}/nct/$(ARCH)', key: {key},
   key_url: '{url}/nct/gpgkey', packages: [nvidia-container-toolkit, libnvidia-container1],
   source: [nct-install], status: sourced}}
"""


class Shop(NamedTuple):
    root: Path
    url: str
    key: vendor.Signer


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    folder = tmp_path_factory.mktemp("shop")
    key = vendor.signer(folder / "key")
    root = folder / "served"
    cuda = root / "cuda/x86_64"
    # The real toolkit's packages can bring a driver; `--no-install-recommends` and a pin forbid it.
    toolkit = Deb(
        "cuda-toolkit-12-9", {"usr/local/cuda-12.9/bin/nvcc": NVCC}, "Recommends: cuda-drivers"
    )
    flat(cuda, key, [toolkit, *(Deb(name) for name in TRAPS)])
    (cuda / "key.asc").write_bytes(key.public())
    engine = Deb("docker-ce", {"usr/bin/docker": DOCKER}, after="groupadd -f docker")
    suite(root / "docker", "bookworm", key, [engine, Deb("docker-ce-cli")])
    (root / "docker/gpg").write_bytes(key.public())
    ctk = Deb("nvidia-container-toolkit", {"usr/bin/nvidia-ctk": CTK})
    flat(root / "nct/amd64", key, [ctk, Deb("libnvidia-container1")])
    (root / "nct/gpgkey").write_bytes(key.public())
    # What an earlier `apt install nvidia-cuda-toolkit` left on the machine.
    flat(root / "left", key, [Deb("nvidia-cuda-toolkit"), Deb("libnvidia-compute-535")])
    with serving.served(root) as url:
        yield Shop(root, url.rstrip("/"), key)


Run = Callable[[str], "subprocess.CompletedProcess[str]"]


@contextmanager
def machine(docker: str, image: str, shared: Path) -> Iterator[Run]:
    """A container of a plain system, as root; ``/made`` holds the script and made programs."""
    argv = [docker, "run", "-d", "--rm", "--network", "host", "-v", f"{shared}:/made:ro", image]
    done = subprocess.run([*argv, "sleep", "900"], check=True, capture_output=True, text=True)
    name = done.stdout.strip()

    def run(script: str) -> "subprocess.CompletedProcess[str]":
        inside = [
            docker,
            "exec",
            "-e",
            "DEBIAN_FRONTEND=noninteractive",
            name,
            "bash",
            "-c",
            script,
        ]
        return subprocess.run(inside, capture_output=True, text=True, check=False, timeout=400)

    try:
        yield run
    finally:
        subprocess.run([docker, "rm", "-f", name], capture_output=True, check=False)


@pytest.fixture
def guide(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[[str], Path]:
    """Writes the WSL guide for a GTX 1080 Ti in Debian 12, with the shop and a key for it."""

    def write(key: str) -> Path:
        rows = tmp_path / "rows"
        rows.mkdir()
        (rows / "rows.yaml").write_text(OVERLAY.format(url=shop.url, key=key))
        monkeypatch.setenv("ENVBUILD_MATRICES", str(rows))
        argv = ["setup", "wsl2", "--cc", "6.1", "--base-os", "debian12", "--engine", "docker"]
        assert run([*argv, "--format", "bash", "-o", str(tmp_path / "guide.sh")]) == 0
        capfd.readouterr()
        smi = "#!/bin/sh\necho 'GPU 0: NVIDIA GeForce GTX 1080 Ti (UUID: x)'\n"
        programs = {"nvidia-smi": smi, "systemctl": SYSTEMCTL, "service": SYSTEMCTL}
        for name, text in programs.items():
            (tmp_path / name).write_text(text)
            (tmp_path / name).chmod(0o755)
        return tmp_path

    return write


def said(done: "subprocess.CompletedProcess[str]", word: str, title: str) -> bool:
    """Whether the script said this of a section, whatever its number."""
    return (
        re.search(rf"^{word} +\d+\. {title}", done.stdout + done.stderr, re.MULTILINE) is not None
    )


PREPARE = """set -e
mkdir -p /usr/lib/wsl/lib && cp /made/nvidia-smi /usr/lib/wsl/lib/
cp /made/systemctl /made/service /usr/local/bin/
printf '[boot]\\ncommand=true\\nsystemd = false\\n[user]\\ndefault=me\\n' >/etc/wsl.conf
echo 'deb [trusted=yes] {url}/left/ /' >/etc/apt/sources.list.d/left.list
apt-get update -q
apt-get install -qy nvidia-cuda-toolkit libnvidia-compute-535
rm /etc/apt/sources.list.d/left.list
"""


@pytest.fixture
def image(registry: str) -> str:
    return f"{registry}/library/debian:bookworm-slim"


def test_the_wsl_guide_from_a_spoiled_distribution_to_a_gpu_in_a_container(
    shop: Shop, image: str, old_docker: str, guide: Callable[[str], Path]
) -> None:
    folder = guide(shop.key.fingerprint)
    with machine(old_docker, image, folder) as run_in:
        ready = run_in(PREPARE.format(url=shop.url))
        assert ready.returncode == 0, ready.stdout + ready.stderr

        looked = run_in("bash /made/guide.sh --check")
        assert looked.returncode == 4
        assert said(looked, "FAIL", "No Linux driver is installed")
        assert run_in("dpkg -s libnvidia-compute-535").returncode == 0, "a look changes nothing"

        # WSL must be shut down before systemd runs: the script ends there, and says so.
        first = run_in("bash /made/guide.sh")
        assert first.returncode == 4, first.stdout + first.stderr
        assert said(first, "done", "The distribution sees the GPU")
        assert said(first, "done", "No Linux driver is installed")
        assert "you   in PowerShell: wsl.exe --shutdown" in first.stdout
        assert said(first, "FAIL", "systemd starts services")
        for name in ("libnvidia-compute-535", "nvidia-cuda-toolkit"):
            assert run_in(f"dpkg -s {name}").returncode != 0
        conf = run_in("cat /etc/wsl.conf").stdout
        assert conf == "[boot]\nsystemd=true\ncommand=true\n[user]\ndefault=me\n"

        run_in("mkdir -p /run/systemd/system")  # what `wsl --shutdown` brings
        second = run_in("bash /made/guide.sh toolkit")
        assert second.returncode == 0, second.stdout + second.stderr
        for title in ("Docker Engine answers", "The container toolkit", "A container sees the GPU"):
            assert f". {title}" in second.stdout
        assert said(second, "done", "CUDA 12.9: the toolkit")
        assert "left " in second.stdout, "nsys and ncu were not asked for"

        # Nothing that is installed from now on can bring a driver, whatever asks for it.
        for name in TRAPS:
            refused = run_in(f"apt-get install -y {name}")
            assert refused.returncode != 0, name
        assert run_in("dpkg -s cuda-toolkit-12-9 nvidia-container-toolkit").returncode == 0

        again = run_in("bash /made/guide.sh toolkit")
        assert again.returncode == 0
        assert "do    " not in again.stdout
        assert run_in("cat /etc/wsl.conf").stdout == conf
        assert run_in("bash /made/guide.sh --chek").returncode == 2


def test_a_repository_with_another_key_is_not_trusted(
    shop: Shop, image: str, old_docker: str, guide: Callable[[str], Path]
) -> None:
    folder = guide("A" * 40)
    with machine(old_docker, image, folder) as run_in:
        ready = run_in(PREPARE.format(url=shop.url) + "mkdir -p /run/systemd/system\n")
        assert ready.returncode == 0, ready.stdout + ready.stderr
        done = run_in("bash /made/guide.sh")
        assert done.returncode == 4
        assert said(done, "FAIL", "Docker Engine answers")
        assert run_in("ls /etc/apt/keyrings/docker.asc").returncode != 0
        assert run_in("ls /etc/apt/sources.list.d/docker.list").returncode != 0


def test_a_second_compiler_comes_from_the_systems_own_archive(
    registry: str, old_docker: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    argv = ["setup", "debian", "--cc", "6.1", "--base-os", "debian13", "--format", "bash"]
    assert run([*argv, "-o", str(tmp_path / "guide.sh")]) == 0
    # This section alone: those before it need a driver.
    text = (tmp_path / "guide.sh").read_text()
    head, first, _ = text.partition("\n# 1. ")
    own = next(part for part in text.split("\n\n# ") if ". g++ 13 is there" in part.splitlines()[0])
    assert first
    (tmp_path / "one.sh").write_text(f'{head}\n# {own}\n[ -z "$failed" ] || exit 4\n')
    with machine(old_docker, f"{registry}/library/debian:trixie-slim", tmp_path) as run_in:
        assert run_in("apt-get update -q").returncode == 0
        assert run_in("bash /made/one.sh --check").returncode == 0, "optional: no failure"
        done = run_in("bash /made/one.sh host-compiler")
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        assert "done  " in done.stdout
        assert "g++-13" in run_in("g++-13 --version").stdout
