"""What the release of an engine, or where it runs, means for a plan: both sides of each bound.

Machines are *made*: an RTX 5090 of `tests/hosts`, or a Jetson, its engines as each line says.
"""

import pytest

from envbuild.advice.doctor import diagnose
from envbuild.advice.scene import Scene
from envbuild.values.codec import Pairs, replace
from envbuild.values.host import CdiSpec, EngineFacts, Host, Tool
from tests.planner.ask import ask, ids
from tests.planner.test_containers import CDI, HOOK, commands, docker, found, machine, podman
from tests.planner.test_machine import host

OLD = CdiSpec(path="/etc/cdi/nvidia.yaml", version="0.5.0", devices=("nvidia.com/gpu=all",))
NEW = replace(OLD, path="/var/run/cdi/nvidia.yaml", version="0.7.0")


@pytest.mark.parametrize(
    ("engine", "specs", "unread"),
    [
        (podman("cdi", version="4.9.4"), (NEW,), True),
        (podman("cdi", version="5.0.3"), (NEW,), True),
        (podman("cdi", version="5.1.0"), (NEW,), False),
        (docker("cdi", version="26.0.2"), (NEW,), True),
        (docker("cdi", version="26.1.0"), (NEW,), False),
        # It reads the older form, takes one of two, or nobody knows the form.
        (podman("cdi", version="4.9.4"), (OLD,), False),
        (podman("cdi", version="4.9.4"), (OLD, NEW), False),
        (podman("cdi", version="4.9.4"), (CDI,), False),
        # The engine itself shows the devices: then it has read them.
        (docker("cdi", version="26.0.2", devices=("nvidia.com/gpu=all",)), (NEW,), False),
    ],
)
def test_a_specification_that_the_engine_does_not_read(
    engine: EngineFacts, specs: tuple[CdiSpec, ...], unread: bool
) -> None:
    here = machine(engine, cdi=specs)
    plan = ask(host=here)
    assert ("cdi-spec-version" in ids(plan)) is unread
    assert ("cdi-spec-version" in {f.id for f in diagnose(Scene(host=here))}) is unread
    if unread:
        told = found(plan, "cdi-spec-version")
        assert told.severity == "warn"
        assert told.source
        # A flag of one command is gone when the toolkit's service writes the file again.
        assert "nvidia-cdi-refresh.env" in commands(told)
        assert plan.outcome == "warn"


@pytest.mark.parametrize(
    ("version", "access", "specs", "told"),
    [
        ("29.2.1", HOOK, (), False),
        ("29.3.0", ("gpus",), (), True),
        ("29.4.1", ("gpus",), (), True),
        ("29.4.1", ("cdi", "gpus"), (NEW,), False),
        # It has another way, which is taken.
        ("29.4.1", HOOK, (), False),
    ],
)
def test_a_docker_whose_flag_asks_for_cdi(
    version: str, access: tuple[str, ...], specs: tuple[CdiSpec, ...], told: bool
) -> None:
    plan = ask(host=machine(docker(*access, version=version), cdi=specs))
    assert ("docker-gpus-cdi" in ids(plan)) is told
    if version == "29.4.1" and access == HOOK:
        assert plan.access == "nvidia-runtime"
    if told:
        assert "cdi generate" in commands(found(plan, "docker-gpus-cdi"))
        assert found(plan, "docker-gpus-cdi").source


@pytest.mark.parametrize(
    ("version", "base", "told"),
    [
        ("20.10.9", "ubuntu24.04", True),
        ("20.10.9", "ubuntu22.04", True),
        ("20.10.9", "ubuntu20.04", False),
        ("20.10.10", "ubuntu24.04", False),
        ("19.03.8", "ubuntu22.04", True),
        ("20.10.24+dfsg1", "ubuntu24.04", False),
        ("28.5.2", "ubuntu24.04", False),
    ],
)
def test_a_docker_from_before_clone3(version: str, base: str, told: bool) -> None:
    here = machine(docker(*HOOK, version=version))
    plan = ask(host=here, base_os=base, toolkit_source="redist")
    assert plan.image.os == base
    assert ("docker-clone3" in ids(plan)) is told
    assert "docker-clone3" not in ids(ask(host=here, where="host"))
    # It builds as badly where it gives no GPU yet.
    bare = ask(host=machine(docker(version=version)), base_os=base, toolkit_source="redist")
    assert ("docker-clone3" in ids(bare)) is told
    if told:
        assert found(plan, "docker-clone3").source
        assert "20.10.10 or newer" in commands(found(plan, "docker-clone3"))


@pytest.mark.parametrize(
    ("endpoint", "variables", "access", "told"),
    [
        ("tcp", {}, HOOK, True),
        ("unix", {"DOCKER_HOST": "ssh://there"}, HOOK, True),
        ("unix", {}, HOOK, False),
        ("unix", {"DOCKER_HOST": "unix:///run/user/1000/docker.sock"}, HOOK, False),
    ],
)
def test_a_docker_on_another_machine(
    endpoint: str, variables: dict[str, str], access: tuple[str, ...], told: bool
) -> None:
    here = machine(docker(*access, endpoint=endpoint), env=Pairs(variables))
    plan = ask(host=here)
    assert ("docker-remote" in ids(plan)) is told
    if told:
        assert found(plan, "docker-remote").source
        assert "detect --json" in commands(found(plan, "docker-remote"))
    # The toolkit that lies here is not the one that runs its containers.
    old = replace(here, container_toolkit=Tool(name="nvidia-container-toolkit", version="1.17.4"))
    assert ("container-toolkit-old" in ids(ask(host=old))) is not told
    assert ("container-toolkit-old" in {f.id for f in diagnose(Scene(host=old))}) is not told


@pytest.mark.parametrize(
    ("engine", "specs"),
    [
        # It takes no CDI at all: that it does not read a form of it is beside the point.
        (docker(version="25.0.5"), (NEW,)),
        (docker(*HOOK, version="24.0.7"), (NEW,)),
        (podman("cdi", version="3.4.4"), (NEW,)),
    ],
)
def test_an_engine_without_cdi_hears_nothing_of_its_forms(
    engine: EngineFacts, specs: tuple[CdiSpec, ...]
) -> None:
    here = machine(engine, cdi=specs)
    assert "cdi-spec-version" not in ids(ask(host=here))
    assert "cdi-spec-version" not in {f.id for f in diagnose(Scene(host=here))}


def test_a_stale_specification_is_written_anew_and_no_engine_installed() -> None:
    """An old podman beside the docker that reads it is no reason for another docker."""
    stale = replace(OLD, driver="570.86.15")
    for engine in (podman("cdi", version="3.4.4"), podman("cdi", version="4.9.3")):
        here = machine(docker("cdi"), engine, cdi=(stale,), os="ubuntu22.04")
        told = next(f for f in diagnose(Scene(host=here)) if f.id == "cdi-stale")
        assert "docker-ce" not in commands(told)
        plain = "no-additional-gids-for-device-nodes" in commands(told)
        assert plain is (engine.version == "4.9.3")


def jetson(l4t: str, version: str) -> Host:
    made = host("orin-r36.4")
    assert made.jetson is not None
    engine = docker("nvidia-runtime", version=version)
    return replace(made, jetson=replace(made.jetson, l4t=l4t), engines=(engine,))


@pytest.mark.parametrize(
    ("l4t", "version", "told"),
    [
        ("r36.4.3", "28.0.1", True),
        ("r36.4.3", "27.5.1", False),
        ("r36.4.4", "28.0.1", False),
        ("r35.4.1", "29.1.2", True),
    ],
)
def test_a_jetson_whose_kernel_lacks_the_table_raw(l4t: str, version: str, told: bool) -> None:
    plan = ask(host=jetson(l4t, version))
    assert ("docker-iptables-raw" in ids(plan)) is told
    advised = {f.id: f for f in diagnose(Scene(host=jetson(l4t, version)))}
    assert ("docker-iptables-raw" in advised) is told
    # Whether it gives a GPU or not: no container of it has a network.
    bare = replace(jetson(l4t, version), engines=(docker(version=version),))
    named = [f.id for f in ask(host=bare).findings]
    assert ("docker-iptables-raw" in named) is told
    # The other docker comes first: the checks of further steps run containers.
    assert not told or named.index("docker-iptables-raw") < named.index("container-access")
    if told:
        here = found(plan, "docker-iptables-raw")
        assert here.source
        assert "in a release before 28.0" in commands(here)
        assert advised["docker-iptables-raw"].steps == here.steps
