"""What keeps a container from device files: control groups, SELinux, a user's groups."""

from collections.abc import Iterator

from envbuild.advice.fixes import container, features
from envbuild.advice.fixes.features import below
from envbuild.advice.rows import where
from envbuild.advice.rules import Advice, Rule, advice
from envbuild.advice.rules.cdi import written
from envbuild.advice.scene import Scene
from envbuild.matrix.load import load_reference
from envbuild.planner.table import cite
from envbuild.values.finding import Step
from envbuild.values.host import EngineFacts

_SETTING = "nvidia-container-cli.no-cgroups"
_REFUSED = ("nvml-unknown-error", "wsl-blocked", "bpf-denied", "cuda-304", "cuda-100")


def no_cgroups(scene: Scene) -> Iterator[Advice]:
    """A setting that a daemon without root needs, and that takes the GPU from one with root."""
    if scene.host.inside_container is not None or scene.host.container_toolkit is None:
        return
    rootful, rootless = _daemons(scene)
    if rootful and _value(scene, "/etc/") == "true":
        yield _taken(scene, both=rootless)
    elif rootless and (_value(scene, "") or "false") == "false":
        yield from _needed(scene, both=rootful)


def _daemons(scene: Scene) -> tuple[bool, bool]:
    """Whether a docker with root is here, and one without."""
    engines = [e for e in scene.host.engines if e.name == "docker" and e.answers]
    sockets = [s for s in scene.host.sockets if s.endswith("docker.sock")]
    rootful = "/run/docker.sock" in sockets or any(e.rootless is False for e in engines)
    users = any(s.startswith("/run/user/") for s in sockets)
    return rootful, users or any(e.rootless for e in engines)


def _value(scene: Scene, folder: str) -> str | None:
    """The setting in files below a folder; a user's own file goes before that of the system."""
    files = [c for c in scene.host.configs if c.path.startswith(folder or "/")]
    files.sort(key=lambda config: config.path.startswith("/etc/"))
    values = (config.values.get(_SETTING) for config in files)
    return next((value for value in values if value is not None), None)


def _taken(scene: Scene, *, both: bool) -> Advice:
    seen = scene.saw(*_REFUSED)
    steps = [
        Step(
            why="a daemon with root needs it off: control groups give its containers their rights",
            argv=("sudo", "nvidia-ctk", "config", "--set", f"{_SETTING}=false", "--in-place"),
            check="grep no-cgroups /etc/nvidia-container-runtime/config.toml: no-cgroups = false",
        ),
        Step(
            why="it counts for containers that start from now on",
            text="start the container again",
            check="nvidia-smi in it shows the card",
        ),
    ]
    why = "It is meant for a docker without root; here one with root runs."
    if both:
        why = "Here are both a docker with root, which needs it off, and one without, which needs "
        why += "it on for the hook; one file serves both. With CDI neither needs it."
        steps += [*written(scene), _by_name()]
    return advice(
        "no-cgroups",
        "error" if seen else "warn",
        "no-cgroups = true: the container toolkit leaves out the rights that a container of a "
        "daemon with root needs for the GPU",
        why=f"{why} {where(seen) if seen else ''}",
        steps=tuple(steps),
        source=_source(),
        explains=_REFUSED,
    )


def _needed(scene: Scene, *, both: bool) -> Iterator[Advice]:
    """Without root the hook may set no control groups."""
    seen = scene.saw("bpf-denied")
    engine = scene.engine("docker")
    if seen is None and (engine is None or engine.rootless is not True or _by_cdi(scene, engine)):
        return
    cdi = (*written(scene), _by_name())
    steps = cdi if both else (container.no_cgroups(), _or(cdi[0]), *cdi[1:])
    why = "With CDI it need not: the engine itself gives the device files."
    if both:
        why += " The setting no-cgroups would take the GPU from the docker with root that is here."
    yield advice(
        "no-cgroups",
        "error" if seen else "warn",
        "docker runs without root, and the container toolkit's hook may then set no control groups",
        why=f"{why} {where(seen) if seen else ''}",
        steps=steps,
        source=_source(),
        explains=("bpf-denied",),
    )


def _by_cdi(scene: Scene, engine: EngineFacts) -> bool:
    """The way in of this engine is CDI: that of its own, or the nvidia runtime's."""
    since = features.feature(load_reference(), "nvidia-container-toolkit", "jit-cdi-default").since
    version = features.release(scene.host.container_toolkit)
    jit = version is not None and not below(version, since)
    return "cdi" in engine.access or (jit and "nvidia-runtime" in engine.access)


def _or(step: Step) -> Step:
    return Step(why=f"or by CDI: {step.why}", argv=step.argv, text=step.text, check=step.check)


def _by_name() -> Step:
    return Step(
        why="CDI touches no control group by itself: the engine gives what it names",
        text="start containers with --device nvidia.com/gpu=all, whichever daemon it is",
        check="nvidia-smi in it shows the card",
    )


def _source() -> str:
    row = features.feature(load_reference(), "nvidia-container-toolkit", "no-cgroups")
    return cite(row, f"{row.engine}-{row.feature}")


def selinux(scene: Scene) -> Iterator[Advice]:
    """SELinux keeps containers from devices, or a user without root lost the groups for them."""
    seen = scene.saw("nvml-insufficient-permissions")
    kernel = scene.host.kernel
    confined = kernel.selinux == "enforcing" and not kernel.container_use_devices
    confines = any(
        e.answers and (e.name == "podman" or "selinux" in e.security) for e in scene.host.engines
    )
    rootless = any(e.rootless for e in scene.host.engines)
    if not confines or not (seen or confined) or scene.host.inside_container is not None:
        return
    if confined:
        says = "SELinux is enforcing, and keeps containers from devices (container_use_devices off)"
    elif rootless:
        says = "the container lost the groups of its user, which open the GPU's device files"
    else:
        return
    yield advice(
        "selinux-devices" if confined else "device-groups",
        "error" if seen else "watch",
        says,
        why="The ways below go from the one that opens least. " + (where(seen) if seen else ""),
        steps=tuple(_opened(confined=confined, rootless=rootless or seen is not None)),
        source="errors/nvml-insufficient-permissions sourced",
        explains=("nvml-insufficient-permissions", "cuda-304"),
    )


def _opened(*, confined: bool, rootless: bool) -> Iterator[Step]:
    if confined:
        yield Step(
            why="let containers use the devices that they are given",
            argv=("sudo", "setsebool", "-P", "container_use_devices", "on"),
            check="getsebool container_use_devices: on",
        )
    if rootless:
        yield Step(
            why="rootless podman drops the groups (video, render) that open the files; crun keeps "
            "them",
            text="podman --runtime crun run --group-add keep-groups --device nvidia.com/gpu=all",
            check="nvidia-smi in it shows the card",
        )
    if confined:
        yield Step(
            why="only where both do not help: SELinux then does not separate this container",
            text="podman run --security-opt label=disable --device nvidia.com/gpu=all ...",
            check="nvidia-smi in it shows the card",
        )


def groups_written_again(scene: Scene) -> Iterator[Advice]:
    """The hook gave a right that docker does not know of, and systemd took it back."""
    seen, engine = scene.saw("nvml-unknown-error"), scene.engine("docker")
    if seen is None or engine is None or scene.host.inside_container is not None:
        return
    if engine.cgroup_driver == "cgroupfs" or scene.wsl2:
        return
    driver = f" (docker's cgroup driver is {engine.cgroup_driver})" if engine.cgroup_driver else ""
    steps = written(scene) if "cdi" not in engine.access else ()
    yield advice(
        "nvml-unknown-error",
        "error",
        f"the container lost its right to the GPU: systemd wrote its control groups again{driver}",
        why="The hook behind --gpus adds the GPU without docker's knowledge; systemctl "
        "daemon-reload, which updates of packages call, and changes of the container put back what "
        f"docker knows. {where(seen)}",
        steps=(
            *steps,
            Step(
                why="by CDI name docker knows of the device files, and gives them back",
                text="start the container again with --device nvidia.com/gpu=all, not with --gpus",
                check="nvidia-smi in it still shows the card after sudo systemctl daemon-reload",
            ),
            Step(
                why="or where CDI cannot be: let docker manage the groups, not systemd",
                text='"exec-opts": ["native.cgroupdriver=cgroupfs"] in /etc/docker/daemon.json, '
                "then sudo systemctl restart docker (not under Kubernetes)",
                check="docker info --format {{.CgroupDriver}}: cgroupfs",
            ),
        ),
        source="errors/nvml-unknown-error sourced",
    )


RULES: tuple[Rule, ...] = (no_cgroups, selinux, groups_written_again)
