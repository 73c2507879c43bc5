"""Which GPUs a program is shown, and which driver library it is given, by its environment."""

import re
from collections.abc import Iterator

from envbuild.advice.installing import is_other
from envbuild.advice.rows import where
from envbuild.advice.rules import Advice, Rule, advice
from envbuild.advice.scene import Scene
from envbuild.values.finding import Step

_VARIABLE = "CUDA_VISIBLE_DEVICES"
_HIDDEN = ("cuda-100", "cuda-101", "torch-no-driver", "cuda-3")
_STUB = ("libcuda-stub", "cuda-100", "cuda-999", "torch-no-driver")


def devices(scene: Scene) -> Iterator[Advice]:
    """CUDA_VISIBLE_DEVICES names what is not there; CUDA then stops at that name."""
    value = scene.variable(_VARIABLE)
    if value is None or not scene.driver_works:
        return
    seen, wrong = scene.saw(*_HIDDEN), _first_wrong(scene, value)
    if wrong is None:
        return
    hides = value.strip() in {"", "-1", "none", "NoDevFiles"}
    old_form = wrong.startswith("MIG-GPU-")
    says = (
        f"{_VARIABLE} is {value!r}: it hides every GPU from CUDA"
        if hides
        else f"{_VARIABLE} names {wrong}, which is not here"
    )
    if old_form:
        says += "; MIG-GPU-UUID/n/n is the form of drivers before R470, now it is MIG-UUID"
    yield advice(
        "cuda-visible-devices",
        "error" if seen else "info" if hides else "warn",
        says,
        why="CUDA shows the devices up to the first name that it does not know. "
        + (where(seen) if seen else ""),
        steps=(
            Step(
                why="the names that are there",
                argv=("nvidia-smi", "-L"),
                check="each name of the variable is in the list; a UUID for one of MIG",
            ),
            Step(
                why="show all of them",
                text=f"unset {_VARIABLE}, or set it to one of these names",
                check="python3 -c 'import torch; print(torch.cuda.device_count())': not 0",
            ),
        ),
        source="errors/cuda-100 sourced",
        explains=_HIDDEN,
    )


def _first_wrong(scene: Scene, value: str) -> str | None:
    """The first name that is none of a device here; None = all are."""
    gpus = [gpu for gpu in scene.host.gpus if gpu.source in {"nvml", "nvidia-smi"}]
    uuids = [gpu.uuid for gpu in gpus if gpu.uuid]
    instances = [one for gpu in gpus if gpu.mig for one in gpu.mig.instances]
    for name in map(str.strip, value.split(",")):
        if re.fullmatch(r"\d{1,3}", name, re.ASCII):
            known = int(name) < max(len(gpus), 1)
        elif name.startswith("GPU-"):
            known = not uuids or any(uuid.startswith(name) for uuid in uuids)
        elif name.startswith("MIG-"):
            known = any(one.startswith(name) for one in instances)
        else:
            known = False
        if not known:
            return name or "nothing"
    return None


def stub(scene: Scene) -> Iterator[Advice]:
    """The loader takes the toolkit's stub, or the library of a compat folder, for the driver's."""
    found = [t for t in scene.host.libraries if t.name == "libcuda.so.1" and t.source != "folder"]
    first = found[0] if found else None
    path = (first.path or "") if first is not None else ""
    if first is None or not is_other(path):
        return
    stubs = "/stubs/" in path
    served = all(card.forward_compat for _, card in scene.cards)
    explains = _STUB if stubs else ("cuda-804", "cuda-803")
    seen = scene.saw(*explains)
    if not stubs and served:
        return
    where_from = (
        "LD_LIBRARY_PATH" if first.source == "LD_LIBRARY_PATH" else "a file in /etc/ld.so.conf.d"
    )
    what = "a stub for the linker, without a driver" if stubs else (
        "a newer driver library, which this card does not take (error 804)"
    )  # fmt: skip
    yield advice(
        "libcuda-stub" if stubs else "forward-compat",
        "error",
        f"programs get {path} for libcuda.so.1: {what}",
        why=f"{where_from} puts it before the driver's own. " + (where(seen) if seen else ""),
        steps=(
            Step(
                why="only the linker may look there"
                if stubs
                else "the driver's own libcuda is then loaded",
                text=f"take {path.rpartition('/')[0]} out of {where_from}"
                + ("" if first.source == "LD_LIBRARY_PATH" else ", then sudo ldconfig"),
                check="ldconfig -p | grep libcuda.so.1, and env | grep LD_LIBRARY_PATH: none of it",
            ),
        ),
        source="errors/libcuda-stub sourced" if stubs else "errors/cuda-804 sourced",
        explains=explains,
    )


RULES: tuple[Rule, ...] = (stub, devices)
