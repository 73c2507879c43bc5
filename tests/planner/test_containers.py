"""What a plan says of a machine whose containers get no GPU, or get it in a way of their own.

Machines are *made*: an RTX 5090 of `tests/hosts`, its engines as each line says.
"""

# ruff: noqa: E501 - one row a line reads as the table that it is

import re

import pytest

from envbuild.host.access import OF_PODMAN, access_of, containers, lack
from envbuild.matrix.load import load
from envbuild.values.codec import replace
from envbuild.values.finding import Finding
from envbuild.values.host import CdiSpec, EngineFacts, Host, Os, Probe, Tool
from envbuild.values.plan import Plan
from tests.planner.ask import ask, ids
from tests.planner.test_machine import host

NEWEST = "1.20.0"
CDI = CdiSpec(path="/etc/cdi/nvidia.yaml", devices=("nvidia.com/gpu=all",))
HOOK = ("gpus", "nvidia-runtime")


def docker(*access: str, version: str = "28.5.2", says: str = "", **more: object) -> EngineFacts:
    """A docker that answers, unless it says why it does not."""
    made = EngineFacts(
        name="docker", cli="/usr/bin/docker", version=None if says else version,
        answers=not says, buildkit="buildx", access=access, rootless=False, says=says,
    )  # fmt: skip
    return replace(made, **more)


def podman(*access: str, version: str = "5.4.0") -> EngineFacts:
    return EngineFacts(
        name="podman", cli="/usr/bin/podman", version=version, answers=True, access=access
    )


def machine(
    *engines: EngineFacts, toolkit: str | None = NEWEST, os: str = "ubuntu24.04", **more: object
) -> Host:
    tool = Tool(name="nvidia-container-toolkit", version=toolkit) if toolkit else None
    made = replace(
        host("rtx5090-docker-cdi"), engines=engines, container_toolkit=tool, os=Os(id=os),
        cdi=(), probes=(Probe(name="nvml", ok=True),),
    )  # fmt: skip
    return replace(made, **more)


def found(plan: Plan, id: str) -> Finding:
    return next(f for f in plan.findings if f.id == id)


def commands(finding: Finding) -> str:
    return "\n".join(" ".join(step.argv) or step.text for step in finding.steps)


@pytest.mark.parametrize(
    ("here", "access", "says", "first", "last"),
    [
        (machine(docker(), toolkit=None), "gpus", "toolkit is not installed", "install -y .*curl gpg", "systemctl restart docker"),
        (machine(docker()), "gpus", "was not told of it", "nvidia-ctk runtime configure --runtime=docker", "systemctl restart docker"),
        (machine(podman()), "cdi", "finds no CDI specification", "nvidia-ctk cdi generate", "cdi generate"),
        (machine(podman(), toolkit=None, os="fedora43"), "cdi", "toolkit is not installed", "curl .*yum.repos.d", "cdi generate"),
        (machine(toolkit=None), "cdi", "no container engine is installed", r"podman of this system's own packages \(4.9.3\)", "restart nvidia-cdi-refresh"),
        (machine(docker(says="Cannot connect to the Docker daemon")), "gpus", "does not answer: Cannot connect", "systemctl enable --now docker", "enable --now docker"),
        (machine(docker(says="permission denied while trying to connect")), "gpus", "permission denied", "usermod -aG docker", "usermod"),
        (machine(docker(says="Cannot connect"), toolkit=None), "gpus", "does not answer", "enable --now docker", "systemctl restart docker"),
        (machine(docker(rootless=True), toolkit=None), "nvidia-runtime", "toolkit is not installed", "curl", "systemctl --user restart docker"),
        (machine(docker(cli="/snap/bin/docker"), toolkit=None), "nvidia-runtime", "is a snap", "snap refresh docker", "snap remove docker"),
        (machine(docker(), podman("cdi")), "gpus", "was not told of it", "runtime configure", "restart docker"),
        (machine(docker(), platform="wsl2", toolkit=None), "gpus", "toolkit is not installed", "curl", "service docker restart"),
    ],
)  # fmt: skip
def test_no_way_to_a_gpu_is_warned_of(
    here: Host, access: str, says: str, first: str, last: str
) -> None:
    plan = ask(host=here)
    warned = found(plan, "container-access")
    assert (plan.outcome, plan.access, warned.severity) == ("warn", access, "warn")
    assert says in warned.says
    assert warned.source
    lines = commands(warned).splitlines()
    assert re.search(first, lines[0]), lines
    assert re.search(last, lines[-1]), lines
    assert all(step.check and step.why for step in warned.steps)
    # The plan's flags are those that work afterwards.
    assert " ".join(plan.run.docker) in warned.why or plan.access == "cdi"


@pytest.mark.parametrize(
    "here",
    [
        machine(docker("cdi"), cdi=(CDI,)),
        machine(docker(*HOOK)),
        machine(podman("cdi"), cdi=(CDI,)),
        machine(EngineFacts(name="apptainer", version="1.3.6", answers=True, access=("native",)), toolkit=None),
        # Docker Desktop needs nothing in the distribution.
        machine(docker(*HOOK, version="29.1.5"), toolkit=None, platform="wsl2"),
        # podman under the name of docker is no docker that fails.
        machine(docker(says="this is podman under the name of docker"), podman("cdi"), cdi=(CDI,)),
        machine(docker(says="Cannot connect"), podman("cdi"), cdi=(CDI,)),
        # A second client of the same server.
        machine(docker(), docker("gpus", cli="/usr/local/bin/docker")),
        # Nothing to give: a machine that builds for others.
        replace(machine(docker(), toolkit=None), gpus=(), driver=None),
    ],
)  # fmt: skip
def test_nothing_is_said_where_a_container_gets_its_gpu(here: Host) -> None:
    cc = "" if here.gpus else "8.9"
    assert not {"container-access", "container-engine"} & ids(ask(cc, host=here))


def test_a_plan_for_the_machine_itself_needs_no_container() -> None:
    bare = machine(toolkit=None, os="ubuntu24.04")
    assert "container-access" in ids(ask(host=bare), "warn")
    assert "container-access" not in ids(ask(host=bare, where="host"))


@pytest.mark.parametrize(
    ("change", "known"),
    [
        ({}, True),
        ({"kind": "recorded"}, True),
        ({"kind": "made", "probes": ()}, False),
        ({"kind": "recorded", "probes": ()}, False),
        # This process looked itself.
        ({"kind": "detected", "probes": ()}, True),
        ({"kind": "made", "probes": (), "engines": (docker(),)}, True),
        ({"probes": (Probe(name="engines", ok=False, says="OSError"),)}, False),
        ({"probes": (Probe(name="toolkit", ok=False),), "engines": (docker(),)}, False),
        ({"probes": (Probe(name="engines", ok=True),)}, True),
    ],
)
def test_absent_is_not_the_same_as_not_looked_at(change: dict[str, object], *, known: bool) -> None:
    here = machine(toolkit=None, kind="made")
    plan = ask(host=replace(here, **change))
    assert ("container-access" in ids(plan)) is known
    assert known is (containers(replace(here, **change)) is not None)


def test_a_rented_container_is_no_machine_to_install_docker_on() -> None:
    """Recorded: a rented H200, itself a container without an engine; the local engine serves it."""
    plan = ask(host=host("h200"))
    told = found(plan, "container-engine")
    assert (told.severity, told.steps) == ("info", ())
    assert "container-access" not in ids(plan)
    # A docker inside that answers is one like any other.
    inner = replace(host("h200-docker"), engines=(docker(),))
    assert "container-access" in ids(ask(host=inner), "warn")


def test_without_a_driver_that_comes_first() -> None:
    here = machine(docker(), toolkit=None)
    bare = replace(here, gpus=(replace(here.gpus[0], source="pci"),), driver=None)
    plan = ask(host=bare)
    assert plan.access == "gpus"
    assert found(plan, "container-access").why.endswith(", once a driver holds the GPU")


@pytest.mark.parametrize(
    ("access", "toolkit", "version", "warned"),
    [
        (("gpus",), NEWEST, "27.5.1", True),
        (HOOK, "1.17.8", "27.5.1", True),
        # From 1.18 on the runtime makes a CDI specification, which asks for no cgroup.
        (HOOK, "1.20.0", "27.5.1", False),
        (("cdi",), NEWEST, "28.5.2", False),
        (("cdi",), NEWEST, "26.0.0", True),
    ],
)
def test_docker_without_root(
    access: tuple[str, ...], toolkit: str, version: str, *, warned: bool
) -> None:
    here = machine(docker(*access, version=version, rootless=True), toolkit=toolkit, cdi=(CDI,))
    plan = ask(host=here)
    assert ("docker-rootless" in ids(plan, "warn")) is warned
    assert plan.access == {("gpus",): "gpus", HOOK: "nvidia-runtime"}.get(access, "cdi")
    with_root = replace(here, engines=(replace(here.engines[0], rootless=False),))
    assert "docker-rootless" not in ids(ask(host=with_root))


def test_podman_that_gives_a_gpu_is_named_beside_a_docker_that_does_not() -> None:
    here = machine(docker(), podman("cdi"), cdi=(CDI,))
    assert found(ask(host=here), "container-access").why.endswith("--engine podman")
    alone = machine(docker(), podman())
    assert "--engine podman" not in found(ask(host=alone), "container-access").why


def test_a_docker_with_root_beside_keeps_its_cgroups() -> None:
    """no-cgroups is one switch for the whole machine: never turned where a server has root."""
    alone = machine(docker(rootless=True), toolkit="1.17.8")
    steps = commands(found(ask(host=alone), "container-access"))
    assert "no-cgroups" in steps
    # From 1.18 on the runtime makes a CDI specification, and no hook sets cgroups.
    newer = machine(docker(rootless=True), toolkit="1.18.0")
    assert "no-cgroups" not in commands(found(ask(host=newer), "container-access"))
    assert '--config="$HOME/.config/docker/daemon.json"' in steps
    assert "systemctl --user restart docker" in steps
    beside = machine(docker(rootless=True), docker(cli="/usr/local/bin/docker"))
    assert ask(host=beside).access == "gpus"
    steps = commands(found(ask(host=beside), "container-access"))
    assert "no-cgroups" not in steps
    assert "sudo nvidia-ctk runtime configure --runtime=docker" in steps


def test_docker_as_a_snap() -> None:
    here = machine(docker(*HOOK, cli="/snap/bin/docker", version="27.5.1"), toolkit=None)
    plan = ask(host=here)
    assert (plan.outcome, plan.access) == ("ok", "nvidia-runtime")
    assert "$HOME" in found(plan, "docker-snap").why
    assert "docker-snap" not in ids(ask(host=machine(docker(*HOOK))))
    silent = machine(docker(says="Cannot connect", cli="/snap/bin/docker"), toolkit=None)
    assert ask(host=silent).access == "nvidia-runtime"
    assert commands(found(ask(host=silent), "container-access")) == "sudo snap start docker"


@pytest.mark.parametrize(
    ("version", "toolkit", "warned"),
    [("29.2.0", "1.17.4", True), ("29.1.9", "1.17.4", False), ("29.2.0", None, False)],
)
def test_a_snap_from_29_2_fails_beside_a_packaged_toolkit(
    version: str, toolkit: str | None, *, warned: bool
) -> None:
    here = machine(docker(*HOOK, cli="/snap/bin/docker", version=version), toolkit=toolkit)
    plan = ask(host=here)
    assert ("docker-snap-toolkit" in ids(plan, "warn")) is warned
    # The toolkit beside a snap is not what runs its containers.
    assert "container-toolkit-old" not in ids(plan)
    if warned:
        assert "apt-get remove -y nvidia-container-toolkit" in commands(
            found(plan, "docker-snap-toolkit")
        )


JIT = (("nvidia-runtime",), "1.18.0")
JANUARY = "CVE-2024-0135, CVE-2024-0136, CVE-2024-0137"
JULY = "CVE-2025-23266, CVE-2025-23267"


@pytest.mark.parametrize(
    ("access", "toolkit", "cves"),
    [
        ("gpus", "1.19.1", ""),
        ("gpus", "1.19.0", "CVE-2026-24260"),
        ("cdi", "1.19.0", "CVE-2026-24260"),
        ("gpus", "1.17.8", "CVE-2026-24260"),
        ("gpus", "1.17.7", f"CVE-2026-24260, {JULY}"),
        ("cdi", "1.17.7", f"CVE-2026-24260, {JULY}"),
        # Bulletin 5659: "CDI mode only for versions prior to 1.17.5".
        ("gpus", "1.17.5", f"CVE-2026-24260, {JULY}"),
        ("gpus", "1.17.4", "CVE-2026-24260"),
        ("cdi", "1.17.4", f"CVE-2026-24260, {JULY}"),
        # CVE-2025-23359 and the two of bulletin 5582 have no impact where CDI is used.
        ("gpus", "1.17.3", "CVE-2026-24260, CVE-2025-23359"),
        ("cdi", "1.17.3", f"CVE-2026-24260, {JULY}"),
        ("gpus", "1.17.2", f"CVE-2026-24260, CVE-2025-23359, {JANUARY}"),
        ("cdi", "1.17.2", f"CVE-2026-24260, {JULY}, {JANUARY}"),
        ("gpus", "1.16.2", f"CVE-2026-24260, CVE-2025-23359, {JANUARY}, CVE-2024-0134"),
        ("cdi", "1.16.1", f"CVE-2026-24260, {JULY}, {JANUARY}, CVE-2024-0134"),
        (
            "gpus",
            "1.16.1",
            f"CVE-2026-24260, CVE-2025-23359, {JANUARY}, CVE-2024-0134, CVE-2024-0132, CVE-2024-0133",
        ),
    ],
)
def test_published_holes_of_a_container_toolkit(access: str, toolkit: str, cves: str) -> None:
    plan = ask(host=machine(docker(access, version="27.5.1"), toolkit=toolkit, cdi=(CDI,)))
    named = [f.says for f in plan.findings if f.id == "container-toolkit-old"]
    assert bool(named) is bool(cves)
    if cves:
        assert f"({cves})" in named[0]
        assert "1.19.1 has none of them" in named[0]
        assert "apt-get install" in commands(found(plan, "container-toolkit-old"))


def test_every_hole_names_its_bulletin() -> None:
    assert all(row.cve.lower() in row.source for row in load().holes)


def test_jetpack_4_is_not_told_to_update() -> None:
    def told(l4t: str, cc: str) -> Finding:
        here = host("orin-r36.4")
        here = replace(here, gpus=(replace(here.gpus[0], name=None, cc=cc),))
        board = replace(here.jetson, l4t=l4t)
        runtime = docker("nvidia-runtime", version="20.10.7")
        tool = Tool(name="nvidia-container-toolkit", version="1.7.0")
        return found(
            ask(host=replace(here, jetson=board, engines=(runtime,), container_toolkit=tool)),
            "container-toolkit-old",
        )

    assert told("r32.7.1", "7.2").steps == ()
    assert "JetPack 4 gets no newer one" in told("r32.7.1", "7.2").why
    assert "nvidia.github.io" in commands(told("r36.4.0", "8.7"))


def test_docker_on_windows_is_docker_desktop() -> None:
    here = machine(docker(cli="docker.exe"), toolkit=None, os="windows", platform="windows")
    warned = found(ask(host=here), "container-access")
    assert "toolkit" not in warned.says
    assert "Docker Desktop" in commands(warned)
    bare = replace(here, engines=())
    assert ask(host=bare).access == "gpus"
    assert "after these steps --gpus all works" in found(ask(host=bare), "container-access").why


def test_a_jetson_takes_its_runtime_alone() -> None:
    here = host("orin-r36.4")
    board = replace(
        here,
        engines=(docker("gpus"),),
        probes=(Probe(name="nvml", ok=True),),
        container_toolkit=None,
    )
    plan = ask(host=board)
    assert plan.access == "nvidia-runtime"
    steps = commands(found(plan, "container-access"))
    assert "apt-get install -y nvidia-container-toolkit\n" in steps
    assert "gpgkey" not in steps
    other = replace(board, engines=(podman(),))
    assert "cdi generate" in commands(found(ask(host=other), "container-access"))
    assert lack(containers(replace(board, engines=(docker("nvidia-runtime"),)))) == ""  # type: ignore[arg-type]


def test_the_way_in_does_not_change_where_nothing_is_missing() -> None:
    assert access_of(machine(docker("cdi", *HOOK)), "docker") == "cdi"
    assert access_of(machine(docker(*HOOK)), "docker") == "gpus"
    assert access_of(machine(), "podman") == "cdi"


@pytest.mark.parametrize(
    ("version", "older"), [("3.4.4", True), ("4.0.9", True), ("4.1.0", False), ("4.9.3", False)]
)
def test_a_podman_from_before_cdi_gives_no_gpu_whatever_lies_here(
    version: str, *, older: bool
) -> None:
    plan = ask(host=machine(podman("cdi", version=version), cdi=(CDI,), os="ubuntu22.04"))
    assert ("container-access" in ids(plan, "warn")) is older
    if older:
        told = found(plan, "container-access")
        assert "is older than CDI" in told.says
        assert "docker-ce" in commands(told)


def test_a_docker_that_is_down_goes_before_a_podman_that_cannot() -> None:
    """Nobody installs docker a second time, where the first one is only not started."""
    old = podman(version="3.4.4")
    down = machine(docker(says="Cannot connect"), old, os="ubuntu22.04")
    plan = ask(host=down)
    assert commands(found(plan, "container-access")) == "sudo systemctl enable --now docker"
    assert plan.access == "gpus"
    # podman under the name of docker is no docker.
    named = machine(docker(says=OF_PODMAN), old, os="ubuntu22.04")
    assert "docker-ce" in commands(found(ask(host=named), "container-access"))
    able = machine(docker(says="Cannot connect"), podman("cdi", version="4.9.3"), cdi=(CDI,))
    assert "container-access" not in ids(ask(host=able))


def test_podman_is_no_way_out_where_it_does_not_read_the_specification() -> None:
    new = replace(CDI, version="0.7.0")
    for version, way in (("4.9.3", False), ("5.1.0", True)):
        here = machine(docker(), podman("cdi", version=version), cdi=(new,))
        assert found(ask(host=here), "container-access").why.endswith("--engine podman") is way


def test_of_a_server_elsewhere_no_flag_is_promised() -> None:
    for engine in (docker(endpoint="ssh"), docker(says="Cannot connect", endpoint="ssh")):
        told = found(ask(host=machine(engine)), "container-access")
        assert "works" not in told.why
        assert ("does not answer" in told.says) is not engine.answers
        assert "detect --json" in commands(told)
