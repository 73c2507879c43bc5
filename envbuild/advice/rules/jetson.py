"""Jetson: its driver is part of L4T, and images and wheels must be made for it."""

import re
from collections.abc import Iterator

from envbuild.advice.fixes import driver as fixes
from envbuild.advice.fixes import engines
from envbuild.advice.fixes.features import feature, release
from envbuild.advice.rows import where
from envbuild.advice.rules import Advice, Rule, advice
from envbuild.advice.rules.fit import SILENT
from envbuild.advice.scene import Scene, is_version
from envbuild.advice.stack import torch_version
from envbuild.host.access import containers
from envbuild.matrix.load import load, load_reference
from envbuild.matrix.model import JetsonRow
from envbuild.planner.ranges import numbers
from envbuild.planner.table import cite
from envbuild.values.finding import Step

_NO_CODE = (
    "torch-not-compatible",
    "cuda-209",
    "cuda-98",
    "wheel-of-servers",
    "torch-no-driver",
    "cuda-100",
)
_OWN_AGAIN = (
    "dpkg-query -W -f '${Package}\\n' 'nvidia-l4t-*' | xargs -r sudo apt-get install -y --reinstall"
)
_OF_IMAGE = re.compile(r"(?:^|[/:_-])r(\d{2})\.(\d{1,2})")


def line(scene: Scene) -> JetsonRow | None:
    """The row of this machine's L4T."""
    release = (scene.host.jetson.l4t if scene.host.jetson else None) or ""
    at = _release(release)
    rows = [
        row for row in load().jetson if at and _release(row.l4t) == at[: len(_release(row.l4t))]
    ]
    return max(rows, key=lambda row: len(row.l4t), default=None)


def _release(l4t: str) -> tuple[int, ...]:
    text = l4t.lstrip("rR")
    return numbers(text) if is_version(text) else ()


def server_driver(scene: Scene) -> Iterator[Advice]:
    """Packages of a server's driver on a Jetson."""
    names = _drivers()
    found = tuple(name for name, _ in scene.host.packages if names.fullmatch(name))
    if not scene.jetson or not found:
        return
    l4t = scene.host.jetson.l4t if scene.host.jetson else None
    yield advice(
        "jetson-server-driver",
        "error",
        f"a driver for cards in PCs is installed on this Jetson: {', '.join(found[:4])}",
        why="The driver of a Jetson is part of its L4T. Another one replaces its libraries, and "
        "drives no Jetson.",
        steps=(
            Step(
                why="take it out",
                argv=("sudo", "apt-get", "purge", "-y", *found[:20]),
                check="dpkg -l 'nvidia-driver*' 'cuda-drivers*' 'nvidia-open*': none is installed",
            ),
            Step(
                why="what it replaced comes back with L4T's own packages",
                argv=("sh", "-c", _OWN_AGAIN),
                check="ls /usr/lib/aarch64-linux-gnu/*/libcuda.so*: L4T's own",
            ),
            fixes.of_l4t(l4t),
        ),
        source="driver_packages/any sourced",
        explains=(*SILENT, "nvml-mismatch"),
    )


def _drivers() -> re.Pattern[str]:
    """The names of the packages of all drivers for cards."""
    words = {
        word
        for row in load_reference().driver_packages
        for word in f"{row.open or ''} {row.proprietary or ''}".split()
    }
    plain = {re.escape(word).replace(r"\{branch\}", r"\d+(-server)?") for word in words}
    return re.compile("|".join(sorted(plain)))


def image_of_another_line(scene: Scene) -> Iterator[Advice]:
    """An image for another L4T, or for servers, on a Jetson that needs its own."""
    row, image = line(scene), scene.image
    if row is None or image is None or not scene.jetson:
        return
    made_for = _OF_IMAGE.search(image.ref) if "l4t" in image.ref.lower() else None
    at = _release((scene.host.jetson.l4t if scene.host.jetson else None) or "")
    server = image.env.get("NVARCH") == "sbsa" and row.platform == "jetson-l4t"
    other = made_for is not None and at and int(made_for[1]) != at[0]
    if not (server or other):
        return
    here = ".".join(map(str, at))
    says = (
        f"the image is built for Arm servers, and L4T {here} has libraries of its own"
        if server or made_for is None
        else f"the image is made for L4T {made_for[1]}.{made_for[2]}, and this is L4T {here}"
    )
    newer = made_for is not None and int(made_for[1]) > at[0]
    yield advice(
        "jetson-image",
        "error" if server or newer or scene.saw(*_NO_CODE, *SILENT) else "warn",
        says,
        why="A Jetson's driver is mounted into its containers: the libraries in the image must be "
        "those of its line. From L4T 38 on, images for servers work.",
        steps=(
            Step(
                why=f"JetPack {row.jetpack} has CUDA {row.cuda}",
                text=f"use {row.image}" if row.image else "use an image for Arm servers",
                check="docker run --rm --runtime=nvidia -e NVIDIA_VISIBLE_DEVICES=all with it: the "
                "program finds the GPU",
            ),
            Step(
                why="what fits this Jetson as a whole",
                argv=("envbuild", "plan"),
                check="the lines image and torch",
            ),
        ),
        source=cite(row, row.l4t),
        explains=(*_NO_CODE, *SILENT),
    )


def server_wheels(scene: Scene) -> Iterator[Advice]:
    """A torch for Arm servers: its CUDA is not that of L4T."""
    row, version = line(scene), torch_version(scene)
    seen = scene.saw(*_NO_CODE)
    if row is None or row.platform != "jetson-l4t" or not scene.jetson:
        return
    local = (version or "").partition("+")[2]
    if not re.fullmatch(r"cu\d{2,4}", local):
        return
    yield advice(
        "jetson-server-wheels",
        "error" if seen else "warn",
        f"torch {version} is built for Arm servers, not for L4T {row.l4t}",
        why="Wheels for aarch64 on the usual indexes are made for servers; up to L4T 36 a Jetson's "
        "CUDA is another one, and some have no code for its GPU. " + (where(seen) if seen else ""),
        steps=(
            Step(
                why=f"builds for JetPack {row.jetpack} with CUDA {row.cuda}",
                text="take torch from the vendor's wheels for this JetPack, or an image that holds "
                f"it{f', made from {row.image}' if row.image else ''}",
                check='python -c "import torch; print(torch.cuda.is_available(), '
                'torch.cuda.get_arch_list())": True, and the code of this GPU',
            ),
        ),
        source=cite(row, row.l4t),
        explains=_NO_CODE,
    )


def no_smi(scene: Scene) -> Iterator[Advice]:
    """Before L4T 38 nvidia-smi is missing, or shows next to nothing."""
    row = line(scene)
    seen = scene.saw("smi-missing", "nvml-not-found", "smi-failed")
    if not scene.jetson or seen is None or (row is not None and row.platform != "jetson-l4t"):
        return
    yield advice(
        "smi-missing",
        "info",
        "nvidia-smi is missing on this Jetson, or shows next to nothing: normal before L4T 38",
        why="The GPU is part of the chip and has no NVML there; CUDA works without. " + where(seen),
        steps=(
            Step(why="what shows the GPU at work there", argv=("tegrastats",), check="GR3D_FREQ"),
        ),
        source=cite(row, row.l4t) if row is not None else "errors/smi-missing derived",
        explains=("nvml-not-found", "smi-failed"),
    )


def iptables_raw(scene: Scene) -> Iterator[Advice]:
    """A docker that is newer than the kernel of its L4T allows."""
    rows, here, engine = load_reference(), containers(scene.host), scene.engine("docker")
    if here is None or engine is None or not engine.answers:
        return
    if not engines.needs_raw(rows, release(engine)) or not engines.lacks_raw(rows, here):
        return
    seen = scene.saw("iptables-raw")
    row, mended = (feature(rows, name, "iptables-raw") for name in ("docker", "l4t"))
    yield advice(
        "docker-iptables-raw",
        "error" if seen else "warn",
        f"docker {engine.version} {row.says}; the kernel of L4T {here.l4t} does not have it",
        why=f"{mended.since} is the first L4T with it. {where(seen) if seen else ''}",
        steps=tuple(engines.engine(rows, here)),
        source=cite(row, f"{row.engine}-{row.feature}"),
        explains=("iptables-raw",),
    )


RULES: tuple[Rule, ...] = (server_driver, image_of_another_line, server_wheels, iptables_raw)
