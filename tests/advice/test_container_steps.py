"""The steps to a container with a GPU: for each family of systems, and written to be done twice."""

import re
from collections.abc import Iterator

import pytest

from envbuild.advice.fixes import container
from envbuild.host.access import Containers
from envbuild.matrix.load import load_reference
from envbuild.values.finding import Step
from envbuild.values.host import EngineFacts, Tool

ROWS = load_reference()
DOCKER = EngineFacts(
    name="docker", cli="/usr/bin/docker", version="28.5.2", answers=True, rootless=False
)
PODMAN = EngineFacts(name="podman", cli="/usr/bin/podman", version="5.4.0", answers=True)
TOOLKIT = Tool(name="nvidia-container-toolkit", version="1.20.0")
SILENT = EngineFacts(name="docker", says="Cannot connect to the Docker daemon")
DENIED = EngineFacts(name="docker", says="permission denied while trying to connect")
SNAP = EngineFacts(name="docker", cli="/snap/bin/docker", version="27.5.1", answers=True)
ROOTLESS = EngineFacts(name="docker", version="28.5.2", answers=True, rootless=True)


def lines(steps: tuple[Step, ...]) -> list[str]:
    return [" ".join(step.argv) or step.text for step in steps]


@pytest.mark.parametrize(
    ("os", "repository", "install"),
    [
        (
            "ubuntu24.04",
            "/etc/apt/sources.list.d/nvidia-container-toolkit.list",
            "apt-get install -y",
        ),
        ("debian13", "/stable/deb/$(ARCH) /", "apt-get install -y"),
        ("linuxmint22", "gpgkey", "apt-get install -y"),
        ("rhel9", "/etc/yum.repos.d/nvidia-container-toolkit.repo", "dnf install -y"),
        ("rockylinux9", "/etc/yum.repos.d/nvidia-container-toolkit.repo", "dnf install -y"),
        ("almalinux8", "/etc/yum.repos.d/nvidia-container-toolkit.repo", "dnf install -y"),
        ("oraclelinux9", "/etc/yum.repos.d/nvidia-container-toolkit.repo", "dnf install -y"),
        ("fedora43", "/etc/yum.repos.d/nvidia-container-toolkit.repo", "dnf install -y"),
        ("amazonlinux2023", "/etc/yum.repos.d/nvidia-container-toolkit.repo", "dnf install -y"),
        ("sles15", "/etc/zypp/repos.d/nvidia-container-toolkit.repo", "zypper --non-interactive"),
        (
            "opensuse15",
            "/etc/zypp/repos.d/nvidia-container-toolkit.repo",
            "zypper --non-interactive",
        ),
        ("arch", None, "pacman -S --needed --noconfirm nvidia-container-toolkit"),
        ("kylin10", None, "install-guide.html"),
        (None, None, "install-guide.html"),
        ("", None, "install-guide.html"),
    ],
)
def test_each_family_has_its_own_packages(
    os: str | None, repository: str | None, install: str
) -> None:
    text = lines(container.install(ROWS, Containers(os=os)))
    assert install in text[-1]
    assert repository is None or any(repository in line for line in text)
    # A key that was not checked is trusted by nobody.
    if "apt-get" in install:
        checks = [step.check for step in container.install(ROWS, Containers(os=os))]
        key = r"show-keys .*C95B321B61E88C1809C4F759DDCAE044F796ECB0"
        assert any(re.search(key, check) for check in checks)


@pytest.mark.parametrize(
    ("l4t", "package"),
    [
        ("r32.7.1", "nvidia-jetpack"),
        ("r35.4.1", "nvidia-container-toolkit"),
        (None, "nvidia-container-toolkit"),
    ],
)
def test_a_jetson_has_it_from_jetpack(l4t: str | None, package: str) -> None:
    here = Containers(os="ubuntu20.04", platform="jetson", l4t=l4t)
    assert lines(container.install(ROWS, here)) == [
        "sudo apt-get update",
        f"sudo apt-get install -y {package}",
    ]
    assert (container.update(ROWS, here) == ()) is (package == "nvidia-jetpack")


def test_jetpack_4_has_no_nvidia_ctk_to_call() -> None:
    for engines in ((), (DOCKER,), (PODMAN,)):
        for toolkit in (None, TOOLKIT):
            old = Containers(
                engines=engines, toolkit=toolkit, os="ubuntu18.04", platform="jetson", l4t="r32.7.1"
            )
            steps = container.steps(ROWS, old)
            assert not any("nvidia-ctk" in f"{step.argv} {step.check}" for step in steps)
            assert steps[-1].argv == ("sudo", "systemctl", "restart", "docker")


def every() -> Iterator[Containers]:
    for engines in (
        (),
        (DOCKER,),
        (PODMAN,),
        (SILENT,),
        (DENIED,),
        (SNAP,),
        (ROOTLESS,),
        (ROOTLESS, DOCKER),
    ):
        for os in ("ubuntu24.04", "debian12", "fedora43", "sles15", "arch", "kylin10", None):
            for toolkit in (None, TOOLKIT):
                for platform, l4t in (
                    ("linux", None),
                    ("wsl2", None),
                    ("windows", None),
                    ("jetson", "r32.7.1"),
                    ("jetson", "r36.4.3"),
                ):
                    yield Containers(
                        engines=engines, toolkit=toolkit, os=os, platform=platform, l4t=l4t
                    )


def test_every_step_says_why_and_how_to_see_that_it_worked() -> None:
    for here in every():
        steps = container.steps(ROWS, here)
        assert steps, here
        assert len(set(steps)) == len(steps)
        for step in steps:
            assert step.why
            assert step.check
            assert bool(step.argv) != bool(step.text), step


def test_no_step_asks_a_question_or_needs_a_shell_that_is_not_there() -> None:
    for here in every():
        for step in container.steps(ROWS, here):
            shell = "sh" in step.argv[:2]
            assert shell or not any(re.search(r"[~$]", word) for word in step.argv), step
            if {"apt-get", "dnf"} & set(step.argv) and "install" in step.argv:
                assert "-y" in step.argv


def test_a_container_without_an_engine_can_do_nothing_about_it() -> None:
    for engines in ((), (SILENT,)):
        assert (
            container.steps(ROWS, Containers(engines=engines, os="ubuntu24.04", inside="docker"))
            == ()
        )
    assert container.steps(ROWS, Containers(engines=(DOCKER,), os="ubuntu24.04", inside="docker"))


def test_nothing_is_to_do_where_the_engine_offers_a_way() -> None:
    offers = EngineFacts(name="docker", version="28.5.2", answers=True, access=("gpus",))
    assert container.steps(ROWS, Containers(engines=(offers,), os="ubuntu24.04")) == ()


@pytest.mark.parametrize(
    ("version", "flag", "newer"),
    [("3.4.4", True, True), ("4.9.3", True, False), ("5.1.0", False, False)],
)
def test_podman_gets_a_specification_that_it_reads(
    version: str, *, flag: bool, newer: bool
) -> None:
    old = EngineFacts(name="podman", version=version, answers=True)
    text = lines(container.steps(ROWS, Containers(engines=(old,), toolkit=TOOLKIT, os="debian12")))
    assert any("no-additional-gids-for-device-nodes" in line for line in text) is flag
    # A flag of one command would be gone when the toolkit's own service writes it again.
    assert any("nvidia-cdi-refresh.env" in line for line in text) is flag
    assert ("install podman 4.1.0 or newer" in text[0]) is newer


def test_no_cgroups_is_never_a_step_beside_a_docker_with_root() -> None:
    for here in every():
        text = "\n".join(lines(container.steps(ROWS, here)))
        assert ("no-cgroups" in text) <= (here.engines == (ROOTLESS,)), here


def test_a_snap_is_not_told_to_use_the_vendors_packages() -> None:
    for os in ("ubuntu24.04", "fedora43"):
        text = "\n".join(lines(container.steps(ROWS, Containers(engines=(SNAP,), os=os))))
        assert "nvidia-container-toolkit" not in text
        assert "snap refresh docker" in text


def test_a_podman_from_before_cdi_gives_way_on_a_jetson_to_a_docker_with_its_runtime() -> None:
    old = EngineFacts(name="podman", version="3.4.4", answers=True, access=("cdi",))
    here = Containers(
        engines=(old,), toolkit=TOOLKIT, os="ubuntu22.04", platform="jetson", l4t="r36.3.0"
    )
    text = lines(container.steps(ROWS, here))
    assert "install podman 4.1.0 or newer; or docker" in text[0]
    assert "in a release before 28.0" in text[1]
    assert text[2:] == [
        "sudo nvidia-ctk runtime configure --runtime=docker",
        "sudo systemctl restart docker",
    ]


def test_the_check_of_a_step_does_not_need_a_later_step() -> None:
    """In LXC the run that proves it all works once no-cgroups is set."""
    steps = container.steps(
        ROWS, Containers(engines=(DOCKER,), toolkit=TOOLKIT, os="debian12", inside="lxc")
    )
    asked = [i for i, step in enumerate(steps) if "no-cgroups" in step.text]
    assert asked == [len(steps) - 2]
    assert "docker run" in steps[-1].check
    assert not any("docker run" in step.check for step in steps[:-1])
    with_root = Containers(engines=(DOCKER,), toolkit=TOOLKIT, os="debian12")
    assert not any("no-cgroups" in step.text for step in container.steps(ROWS, with_root))


@pytest.mark.parametrize("os", ["ubuntu22.04", "ubuntu24.04"])
def test_wsl_has_docker_desktop_too_and_may_lack_systemd(os: str) -> None:
    text = "\n".join(lines(container.steps(ROWS, Containers(os=os, platform="wsl2"))))
    assert "Docker Desktop" in text
    assert "systemctl" not in text
    linux = "\n".join(lines(container.steps(ROWS, Containers(os=os))))
    assert "Docker Desktop" not in linux


@pytest.mark.parametrize(
    ("name", "version", "access", "plain"),
    [
        ("podman", "4.9.4", ("cdi",), True),
        # Its first specification is written before the update, and again after it.
        ("podman", "4.9.4", (), True),
        ("podman", "5.1.0", ("cdi",), False),
        ("podman", "3.4.4", ("cdi",), False),
        ("docker", "26.0.2", ("cdi",), True),
        ("docker", "26.1.0", ("cdi",), False),
        ("docker", "24.0.7", ("gpus",), False),
    ],
)
def test_an_update_of_the_toolkit_keeps_the_form_that_the_engine_reads(
    name: str, version: str, access: tuple[str, ...], *, plain: bool
) -> None:
    engine = EngineFacts(name=name, version=version, answers=True, access=access)
    old = Tool(name="nvidia-container-toolkit", version="1.17.8")
    steps = lines(
        container.update(ROWS, Containers(engines=(engine,), toolkit=old, os="rhel9"), "1.19.1")
    )
    assert any("no-additional-gids-for-device-nodes" in line for line in steps) is plain
    install = next(i for i, line in enumerate(steps) if "dnf install" in line)
    flags = [i for i, line in enumerate(steps) if "no-additional-gids" in line]
    assert all(i > install for i in flags)
