"""Steps that install a driver: per system, branch and kernel modules, each with its check."""

import shlex
import subprocess
from pathlib import Path

import pytest

from envbuild.advice.fixes import driver
from envbuild.matrix.load import load, load_reference
from envbuild.values.finding import Step
from envbuild.values.host import Module, Os

SYSTEMS = (
    *("ubuntu20.04", "ubuntu22.04", "ubuntu24.04", "ubuntu26.04", "debian11", "debian12"),
    *("debian13", "rhel8", "rockylinux9", "almalinux10", "oraclelinux9", "amzn2023", "fedora43"),
    *("opensuse15", "opensuse16", "sles15", "sles16", "arch", "kylin10", None),
)


KMOD = "kmod-nvidia-latest-dkms nvidia-driver nvidia-driver-cuda"


def steps(os: str | None, branch: int, module: Module, arch: str = "x86_64") -> tuple[Step, ...]:
    here = Os(id=os, arch=arch)
    return driver.steps(load(), load_reference(), here, branch, module, secure_boot=False)


def pin(os: str, branch: int, module: Module) -> str:
    return words(driver.pin(load_reference(), Os(id=os), branch, module))


def words(found: tuple[Step, ...]) -> str:
    return "\n".join(shlex.join(step.argv) or step.text for step in found)


@pytest.mark.parametrize("os", SYSTEMS)
@pytest.mark.parametrize(
    ("branch", "module"),
    [(470, "proprietary"), (580, "proprietary"), (580, "open"), (595, "open")],
)
def test_every_step_can_be_done_and_checked(os: str | None, branch: int, module: Module) -> None:
    found = steps(os, branch, module)
    assert found
    for step in found:
        assert step.why
        assert step.check
        assert bool(step.argv) != bool(step.text)
        # Nothing asks back, and only a shell expands.
        if step.argv[:2] in {("sudo", "dnf"), ("sudo", "apt-get")} and "install" in step.argv:
            assert "-y" in step.argv
        assert "sh" in step.argv or not any("$" in word for word in step.argv)
    assert found[-1].argv == ("sudo", "systemctl", "reboot")
    assert "/proc/driver/nvidia/version" in found[-1].check
    assert ("with the words Open" in found[-1].check) is (module == "open")


@pytest.mark.parametrize(
    ("os", "branch", "module", "package"),
    [
        ("ubuntu24.04", 580, "proprietary", "cuda-drivers-580"),
        ("ubuntu24.04", 580, "open", "nvidia-open-580"),
        ("ubuntu24.04", 595, "open", "nvidia-open"),
        ("debian12", 470, "proprietary", "nvidia-tesla-470-driver"),
        ("rockylinux9", 580, "proprietary", KMOD),
        ("almalinux10", 580, "proprietary", KMOD),
        ("rhel10", 595, "open", "nvidia-open"),
        ("fedora43", 595, "open", "nvidia-open"),
        ("opensuse15", 580, "proprietary", "nvidia-driver-G06-kmp-meta"),
        ("opensuse15", 580, "open", "nvidia-open-driver-G06-signed-kmp-meta"),
        ("sles15", 595, "open", "nvidia-open-driver-G07-signed-kmp-meta"),
        ("arch", 595, "open", "nvidia-open-dkms nvidia-utils"),
    ],
)  # fmt: skip
def test_the_packages_of_a_system(os: str, branch: int, module: Module, package: str) -> None:
    install = steps(os, branch, module)[-2]
    assert install.argv[-len(package.split()) :] == tuple(package.split())


@pytest.mark.parametrize(
    ("os", "branch", "module", "held"),
    [
        ("ubuntu24.04", 580, "proprietary", "apt-get install -y nvidia-driver-pinning-580"),
        ("debian13", 595, "open", "apt-get install -y nvidia-driver-pinning-595"),
        ("rockylinux9", 580, "proprietary", "dnf module enable -y nvidia-driver:580-dkms"),
        ("rhel8", 595, "open", "dnf module enable -y nvidia-driver:595-open"),
        ("almalinux10", 580, "proprietary", "dnf versionlock add '*nvidia*580*'"),
        ("fedora42", 595, "open", "dnf versionlock add '*nvidia*595*'"),
    ],
)
def test_what_holds_the_branch_comes_before_the_driver(
    os: str, branch: int, module: Module, held: str
) -> None:
    assert held in pin(os, branch, module)
    every = words(steps(os, branch, module))
    assert every.index(held) < every.index(shlex.join(steps(os, branch, module)[-2].argv))
    last = driver.pin(load_reference(), Os(id=os), branch, module)[-1]
    assert str(branch) in last.check


@pytest.mark.parametrize(
    ("os", "branch", "name"),
    [("debian12", 470, "tesla-470"), ("opensuse15", 580, "G06"), ("arch", 580, "580xx")],
)
def test_where_the_name_holds_the_branch_nothing_else_does(os: str, branch: int, name: str) -> None:
    assert not pin(os, branch, "proprietary")
    assert name in words(steps(os, branch, "proprietary"))


def test_a_key_is_checked_before_anything_trusts_it() -> None:
    found = steps("ubuntu24.04", 580, "proprietary")
    fetched = next(i for i, step in enumerate(found) if step.argv[0] == "curl")
    key = "EB693B3035CD5710E231E123A4B469963BF863CC"
    assert f"{key} and no other key" in found[fetched].check
    assert key in " ".join(found[fetched + 1].argv)
    assert "signed-by=" in words(found[fetched + 2 :])
    assert "signed-by=" not in words(found[: fetched + 2])


@pytest.mark.parametrize(
    ("there", "added"),
    [
        ("", True),
        ("# deb https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/x86_64/ /",
         True),
        (("deb [signed-by=/usr/share/keyrings/cuda-archive-keyring.gpg] "
         "https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/x86_64/ /"), False),
        ("URIs: https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/x86_64/",
         False),
        ("deb https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2204/x86_64/ /",
         True),
    ],
)  # fmt: skip
def test_a_repository_that_apt_has_is_not_listed_twice(
    tmp_path: Path, there: str, *, added: bool
) -> None:
    """Two lists with another key for one address: apt reads neither (cuda-repo-management#4)."""
    lists = tmp_path / "sources.list.d"
    lists.mkdir()
    (lists / ("cuda.sources" if there.startswith("URIs") else "cuda.list")).write_text(there)
    (lists / "old.list.save").write_text(there.removeprefix("# "))
    step = next(s for s in steps("ubuntu24.04", 580, "open") if "add the repository" in s.why)
    script = step.argv[-1].replace("/etc/apt", str(tmp_path)).replace("sudo tee", "tee")
    subprocess.run(("sh", "-c", script), check=True, capture_output=True)
    assert (lists / "nvidia-cuda.list").exists() is added


@pytest.mark.parametrize(
    ("os", "branch", "back"),
    [
        ("ubuntu24.04", 580, "--allow-downgrades cuda-drivers-580"),
        ("debian13", 580, "--allow-downgrades cuda-drivers-580"),
        ("rhel9", 580, "dnf distro-sync -y --allowerasing"),
        ("fedora43", 580, "dnf distro-sync -y --allowerasing"),
        ("opensuse15", 580, "remove --clean-deps"),
    ],
)
def test_a_newer_branch_gives_way(os: str, branch: int, back: str) -> None:
    here, rows = Os(id=os, arch="x86_64"), load_reference()
    older = words(driver.steps(load(), rows, here, branch, "proprietary", older=True))
    assert back in older
    forward = words(steps(os, branch, "proprietary"))
    assert "distro-sync" not in forward
    assert "remove" not in forward
    if "dnf" in back:
        held, last = older.index(f"{branch}"), older.index("dnf distro-sync")
        assert held < last < older.index("kmod-nvidia-latest-dkms")


def test_a_repository_has_a_folder_for_each_architecture() -> None:
    assert "/sbsa/" in words(steps("ubuntu24.04", 580, "open", "aarch64"))
    assert "/rhel9/sbsa/cuda-rhel9.repo" in words(steps("rhel9", 580, "open", "aarch64"))
    assert "/fedora44/x86_64/cuda-fedora44.repo" in words(steps("fedora44", 595, "open"))


def test_the_installer_of_the_vendor_is_for_systems_without_packages() -> None:
    assert "NVIDIA-Linux-x86_64-580.173.02.run" in words(steps("kylin10", 580, "proprietary"))
    assert "--kernel-module-type=proprietary" in words(steps("kylin10", 580, "proprietary"))
    # R470 has one kind of modules, and its installer no such flag.
    assert "--kernel-module-type" not in words(steps("kylin10", 470, "proprietary"))
    assert ".run" not in words(steps("ubuntu24.04", 580, "proprietary"))
    # A repository begins with some branch.
    assert ".run" in words(steps("rhel10", 470, "proprietary"))
    assert "nvidia-driver:535-dkms" in words(steps("rhel9", 535, "proprietary"))


@pytest.mark.parametrize(
    ("os", "needs", "module"),
    [
        ("ubuntu24.04", "either", "open"),
        ("ubuntu24.04", "proprietary", "proprietary"),
        ("kylin10", "either", "open"),
        # G06, which has R580 there, has the proprietary ones alone.
        ("opensuse16", "either", "proprietary"),
    ],
)
def test_cards_that_take_both_get_the_open_modules(os: str, needs: str, module: str) -> None:
    row = next(b for b in load().branches if b.branch == 580)
    assert driver.flavour(load_reference(), Os(id=os), row, needs) == module


def test_kepler_has_no_open_modules() -> None:
    row = next(b for b in load().branches if b.branch == 470)
    assert driver.flavour(load_reference(), Os(id="debian12"), row, "either") == "proprietary"


def test_wsl_and_jetsons_have_drivers_of_their_own() -> None:
    assert "driver 580 or newer" in driver.of_windows("580").text
    assert "apt" not in driver.of_windows(None).text
    assert "L4T 36.4" in driver.of_l4t("36.4").text
    assert "JetPack" in driver.of_l4t(None).text


@pytest.mark.parametrize(
    ("os", "branch", "module", "way"),
    [
        ("nixos25.11", 595, "open", "hardware.nvidia.open = true; then"),
        ("nixos25.11", 580, "proprietary", "kernelPackages.nvidiaPackages.legacy_580;"),
        ("alpine3.22", 595, "open", "no build for musl"),
        ("fedora-silverblue42", 595, "open", "rpm-ostree"),
        ("linuxmint22.2", 580, "open", "Driver Manager"),
        ("pop22.04", 595, "open", "system76-driver-nvidia"),
        ("opensuse-tumbleweed20261120", 580, "proprietary", "SDB:NVIDIA_drivers"),
    ],
)  # fmt: skip
def test_a_system_with_a_way_of_its_own(os: str, branch: int, module: Module, way: str) -> None:
    (step,) = steps(os, branch, module)
    assert way in step.text
    assert "{" not in step.text
    # Where the words name no branch, the system chooses one, and the check asks for none.
    assert (str(branch) in step.check) is (str(branch) in step.text)
    assert "after a restart" in step.check


def test_a_way_of_its_own_is_that_of_this_system_alone() -> None:
    assert "dnf" in words(steps("fedora43", 595, "open"))
    assert "opensuse/tumbleweed/" in words(steps("opensuse-tumbleweed20261120", 595, "open"))
    assert ".run" in words(steps("void", 595, "open"))
    unknown = driver.steps(load(), load_reference(), Os(id="void", arch="ppc64le"), 580, "open")
    assert "as your system documents it" in words(unknown)
    # Fermi's branch has no release that is sourced: nothing to fetch, and no bare restart.
    assert words(steps("ubuntu24.04", 390, "proprietary")).count("\n") == 0
    assert "install R390" in words(steps("ubuntu24.04", 390, "proprietary"))


def test_the_installer_of_the_vendor_never_runs_beside_nouveau(tmp_path: Path) -> None:
    found = steps("kylin10", 580, "proprietary")
    keep = next(i for i, step in enumerate(found) if "blacklist nouveau" in step.argv[-1])
    assert keep < next(i for i, step in enumerate(found) if ".run" in " ".join(step.argv))
    # Packages keep it away by themselves.
    assert "nouveau" not in words(steps("ubuntu24.04", 580, "proprietary"))
    for modules, kept in (("nouveau 1 0", True), ("i915 1 0\nnouveau_x 1 0", False)):
        (tmp_path / "modules").write_text(modules + "\n")
        (tmp_path / "nouveau.conf").unlink(missing_ok=True)
        script = found[keep].argv[-1].replace("/proc/modules", str(tmp_path / "modules"))
        script = script.replace("/etc/modprobe.d/envbuild-", f"{tmp_path}/")
        script = script.replace("dracut --force", "true").replace("update-initramfs -u", "true")
        subprocess.run(("sh", "-c", script), check=True, capture_output=True)
        assert (tmp_path / "nouveau.conf").exists() is kept


@pytest.mark.parametrize(("on", "says"), [(None, "--sb-state"), (True, "--import"), (False, "")])
@pytest.mark.parametrize(
    ("os", "key"),
    [("ubuntu24.04", "/var/lib/shim-signed/mok/MOK.der"), ("rhel9", "/var/lib/dkms/mok.pub")],
)
def test_secure_boot_is_asked_before_the_restart(
    os: str,
    key: str,
    on: bool | None,
    says: str,
) -> None:
    here = Os(id=os, arch="x86_64")
    found = driver.steps(load(), load_reference(), here, 580, "proprietary", secure_boot=on)
    assert ("mokutil" in words(found)) is bool(says)
    if says:
        asked = next(i for i, step in enumerate(found) if says in step.argv)
        assert found[asked - 1].argv[-1] != "reboot"
        assert found[-1].argv[-1] == "reboot"
        assert key in " ".join((*found[asked].argv, found[asked].check))


def test_what_suse_signed_asks_nobody() -> None:
    here = Os(id="sles15", arch="x86_64")
    signed = driver.steps(load(), load_reference(), here, 595, "open", secure_boot=True)
    assert "mokutil" not in words(signed)
