"""How a toolkit of a vendor's archive comes to a machine itself: each step and its check."""

import json
from typing import Any

import pytest

from envbuild.cli.app import run
from envbuild.values.finding import Step
from envbuild.values.host import Gpu, Host, Os
from tests.planner.ask import ask


def steps(source: str, **fields: Any) -> tuple[Step, ...]:  # noqa: ANN401
    plan = ask("6.1", where="host", toolkit_source=source, cuda="12.9", **fields)
    found = [finding for finding in plan.findings if finding.id == "host-install"]
    assert len(found) == 1
    return found[0].steps


def words(found: tuple[Step, ...]) -> str:
    return "\n".join(" ".join(step.argv) for step in found)


def test_on_wsl_the_key_is_checked_first_and_a_driver_is_kept_out() -> None:
    found = steps("apt", platform="wsl2", base_os="ubuntu24.04")
    assert all(step.why and step.check for step in found)
    fetched = next(step for step in found if step.argv[0] == "curl")
    assert "repos/wsl-ubuntu/x86_64/3bf863cc.pub" in words((fetched,))
    assert "EB693B3035CD5710E231E123A4B469963BF863CC and no other key" in fetched.check
    assert words(found).index(fetched.argv[-1]) < words(found).index("signed-by=")
    assert "Package: cuda /^cuda-[0-9]+-[0-9]+$/ cuda-drivers*" in words(found)
    assert words(found).index("no-cuda-driver") < words(found).index("cuda-toolkit-12-9")
    assert found[-1].argv[-1] == "cuda-toolkit-12-9"
    assert "--no-install-recommends" in found[-1].argv
    assert "apt-key" not in words(found)


def test_elsewhere_the_machine_keeps_its_own_driver_packages() -> None:
    found = steps("apt", base_os="ubuntu24.04")
    assert "repos/ubuntu2404/x86_64/" in words(found)
    assert "preferences" not in words(found)
    assert "signed-by=" in words(found)


def test_on_arm_the_repository_is_the_servers() -> None:
    found = steps("apt", base_os="ubuntu24.04", arch="aarch64")
    assert "repos/ubuntu2404/sbsa/" in words(found)


@pytest.mark.parametrize("source", ["redist", "conda"])
def test_archives_need_no_root(source: str) -> None:
    found = steps(source, base_os="ubuntu24.04")
    assert words(found) == (
        f"envbuild build --cc 6.1 --cuda 12.9 --toolkit-source {source} --engine local"
    )
    assert "sudo" not in words(found)


@pytest.mark.parametrize(
    ("source", "fields"),
    [
        ("wheels", {"cc": "8.9", "base_os": "debian12"}),
        ("wheels", {"cc": "8.9", "base_os": "debian12", "packages": "torch", "features": ""}),
        ("wheels", {"cc": "8.9", "base_os": "ubuntu24.04", "driver": "580.95.05"}),
        ("distro", {"cc": "6.1", "base_os": "debian13"}),
        ("distro", {"cc": "6.1", "base_os": "debian12"}),
        ("apt", {"cc": "8.9", "base_os": "ubuntu24.04"}),
        ("apt", {"cc": "8.9", "platform": "wsl2"}),
        ("apt", {"cc": "8.7", "l4t": "36.4"}),
        ("redist", {"cc": "6.1", "base_os": "ubuntu24.04"}),
        ("conda", {"cc": "6.1", "base_os": "ubuntu24.04", "packages": "numba"}),
    ],
)
def test_every_source_has_steps_on_a_machine(
    source: str, fields: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    plan = ask(**fields, where="host", toolkit_source=source)
    assert plan.toolkit_source == source
    (found,) = [finding for finding in plan.findings if finding.id == "host-install"]
    assert found.steps
    assert all(step.why and step.check and (step.argv or step.text) for step in found.steps)
    image = ask(**{k: v for k, v in fields.items() if k != "base_os"}, toolkit_source=source)
    assert "host-install" not in {finding.id for finding in image.findings}
    first = found.steps[0].argv
    if first[:2] == ("envbuild", "build"):
        # The engine plans what the machine was planned for.
        flags = [word for word in first[2:] if word not in {"--engine", "local"}]
        assert run(["plan", *flags, "--json"]) == 0
        made = json.loads(capfd.readouterr().out)
        assert (made["cuda"], made["toolkit_source"]) == (plan.cuda, source)


def test_wheels_come_with_their_hashes_and_a_home() -> None:
    plan = ask("8.9", where="host", toolkit_source="wheels", base_os="debian12", cuda="13.0")
    (found,) = [finding for finding in plan.findings if finding.id == "host-install"]
    text = words(found.steps) + "".join(step.text for step in found.steps)
    assert "--require-hashes --no-deps -r .envbuild/context/requirements.txt" in text
    assert "export CUDA_HOME=$(echo $PWD/cuda-venv/lib/python3.*/site-packages/nvidia/cu13)" in text
    assert "sudo" not in text


@pytest.mark.parametrize(
    ("id", "fields", "says", "argv"),
    [
        ("rhel9", {}, "the vendor's repository rhel9", "dnf config-manager --add-repo"),
        ("rocky8", {}, "the vendor's repository rhel8", "dnf install -y cuda-toolkit-13-0"),
        ("almalinux10", {}, "the vendor's repository rhel10", "CDF6BA43.pub"),
        ("fedora42", {}, "the vendor's repository fedora42", "dnf config-manager addrepo"),
        ("fedora43", {}, "where CUDA 13.2 to 13.3 was seen, is not known to have CUDA 13.0", ""),
        ("sles15.7", {"cuda": "13.1"}, "the vendor's repository sles15", "zypper addrepo"),
        ("opensuse-leap15.6", {}, "repository opensuse15", "zypper --non-interactive install"),
        ("arch", {}, "no repository of the vendor for arch", ""),
        ("rhel9", {"arch": "aarch64"}, "repository rhel9", "repos/rhel9/sbsa/cuda-rhel9.repo"),
        ("fedora42", {"arch": "aarch64"}, "repository fedora42", "fedora42/sbsa"),
        ("ubuntu24.04", {}, "", ""),
        ("debian13", {}, "", ""),
    ],
)
def test_the_vendors_rpm_repository_is_spoken_of(
    id: str, fields: dict[str, Any], says: str, argv: str
) -> None:
    here = Host(
        kind="made",
        gpus=(Gpu(name="NVIDIA GeForce RTX 4090", cc="8.9", source="nvml"),),
        os=Os(id=id, arch=fields.get("arch", "x86_64"), glibc="2.34"),
    )
    plan = ask(host=here, where="host", **{"cuda": "13.0"} | fields)
    found = [finding for finding in plan.findings if finding.id == "vendor-repository"]
    assert [says in finding.says for finding in found] == ([True] if says else [])
    for finding in found:
        assert (argv in words(finding.steps), bool(finding.steps)) == (True, bool(argv))
        assert all(step.why and step.check for step in finding.steps)
    assert "vendor-repository" not in {f.id for f in ask(host=here).findings}
