"""The conditions that rows of `errors.yaml` name: which cause of a text it is, on this machine."""

from collections.abc import Callable

from envbuild.advice.scene import Scene
from envbuild.errors import InputError
from envbuild.matrix.load import load

Condition = Callable[[Scene], bool]


def holds(name: str, scene: Scene) -> bool:
    """Whether a condition holds; ``not-`` in front turns it round, ``saw-X`` asks for text X.

    Raises:
        InputError: a row of an overlay names a condition that does not exist.
    """
    if name.startswith("not-"):
        return not holds(name.removeprefix("not-"), scene)
    if name.startswith("saw-"):
        return scene.saw(name.removeprefix("saw-")) is not None
    if name not in CONDITIONS:
        what = f"a row of errors.yaml asks for the condition {name!r}, which does not exist"
        raise InputError(what, fix=f"one of {', '.join(CONDITIONS)}, or saw-TEXT")
    return CONDITIONS[name](scene)


def known(name: str, ids: frozenset[str]) -> bool:
    """Whether there is such a condition; ``ids`` are those of the texts."""
    name = name.removeprefix("not-")
    return name in CONDITIONS or (name.startswith("saw-") and name.removeprefix("saw-") in ids)


def _podman(scene: Scene) -> bool:
    return scene.engine("docker") is None and scene.engine("podman") is not None


def _apt(scene: Scene) -> bool:
    return (scene.host.os.id or "").startswith(("ubuntu", "debian"))


def _rpm(scene: Scene) -> bool:
    from envbuild.host.os import is_image

    if is_image(scene.host.os.id or ""):
        return False
    row = next((row for row in load().oses if row.id == scene.host.os.id), None)
    names = ("fedora", "rhel", "rocky", "almalinux", "centos", "ol", "oraclelinux", "amazonlinux")
    return (row is not None and row.family == "rpm") or (scene.host.os.id or "").startswith(names)


def _vgpu(scene: Scene) -> bool:
    from envbuild.planner.cards import is_vgpu

    return any(gpu.virtual == "vgpu" or is_vgpu(gpu.name or "") for gpu in scene.host.gpus)


CONDITIONS: dict[str, Condition] = {
    "wsl2": lambda scene: scene.wsl2,
    "jetson": lambda scene: scene.jetson,
    "native": lambda scene: scene.native,
    "driver-works": lambda scene: scene.driver_works,
    "podman": _podman,
    "apt": _apt,
    "rpm": _rpm,
    "vgpu": _vgpu,
    "mig": lambda scene: any(gpu.mig is not None and gpu.mig.enabled for gpu in scene.host.gpus),
}
