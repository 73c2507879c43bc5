"""What a case is given, as the files that ``certify --observed`` reads.

What a case does not name is healthy and complete; `tests/cases/open.yaml` says at its head how.
"""

import re
from pathlib import Path
from typing import Any

import msgspec

from envbuild.certify import image
from envbuild.certify.seen import Seen
from envbuild.certify.suites import SUITES
from envbuild.values.codec import Pairs, Value, dump, replace
from envbuild.values.host import Driver, Gpu, Host, Mig, Tool, Wsl
from envbuild.values.image import ImageFacts, Resolved
from envbuild.values.lock import Lock, LockedBase, Wheel
from envbuild.values.plan import MatrixId
from tests.certify.simulated.devices import Device, Place, devices, place
from tests.certify.simulated.inside import inside
from tests.certify.simulated.machine import HEALTHY, Machine, Trouble, observe

DRIVER = "580.95.05"
Given = dict[str, Any]


def files(given: Given, folder: Path) -> list[str]:
    """The arguments of ``envbuild certify`` for a case; the files are put into the folder."""
    folder.mkdir(exist_ok=True)
    seen, host = observed(given)
    values: dict[str, Value] = {"observed": seen}
    if "host" in given:
        values["host"] = host
    if "image" in given:
        values["image-facts"] = image_facts(given["image"], image.image_facts(seen))
    if "lock" in given:
        values["lock"] = lock(given["lock"])
    argv = ["certify", "--json"]
    for name, value in values.items():
        path = folder / f"{name}.json"
        path.write_bytes(dump(value))
        argv += [f"--{name}", str(path)]
    return [*argv, *(word for one in given["require"] for word in ("--require", one))]


def observed(given: Given) -> tuple[Seen, Host]:
    """What was observed of a healthy image and machine, but for what the case says of it."""
    said: Given = given.get("host") or {}
    named = (said.get("gpus") or [{}])[0]
    one = _device(named, said)
    if _text(given, "pinned").startswith("works up to"):
        one = _pinned(one, _text(given, "pinned"))
    there = _place(one, said, named)
    machine = Machine(one, inside(one.cc), trouble(given), there)
    seen = observe(machine, *_suites(given))
    if said.get("gpus") == []:
        # Somebody's run saw a GPU; the host of the case has none.
        return seen, replace(there.host, gpus=(), driver=None)
    return seen, there.host


def trouble(given: Given) -> Trouble:
    """What probes and tools gave, where that is not the healthy answer."""
    found = HEALTHY
    for name, text in (given.get("observed") or {}).items():
        if re.search(r"right numbers|^ok$", str(text)):
            continue
        if name == "cuInit":
            answer = ("smoke", "device", "init", int(text), "CUDA_ERROR_UNKNOWN")
            found = found._replace(answers=(*found.answers, answer))
        elif name.startswith(("torch", "triton", "cupy", "numba", "cuda-python")):
            found = found._replace(says=(*found.says, (name, str(text))))
        elif name in {"ncu", "nsys", "cuda-gdb", "compute-sanitizer"}:
            found = found._replace(tools=(*found.tools, (name, str(text))))
        elif name == "kernel":
            found = found._replace(wrong=(*found.wrong, *str(text).split()))
        elif not name.startswith(("pinned", "periodic")):
            msg = f"nobody knows how {name!r} is observed"
            raise ValueError(msg)
    return found


def image_facts(said: Given, healthy: ImageFacts) -> ImageFacts:
    """The facts of the healthy image, but for what the case says."""
    found = healthy
    if "torch" in said:
        found = _torch(said, found)
    if "cupy" in said:
        found = _cupy(said, found)
    if "torch_arch_list" in said:
        found = replace(found, arch_list=tuple(said["torch_arch_list"]))
    if "toolkit" in said:
        nvcc = Tool(name="nvcc", version=f"{said['toolkit']}.85", path="/usr/local/cuda/bin/nvcc")
        others = tuple(tool for tool in found.compilers if tool.name != "nvcc")
        found = replace(found, compilers=(nvcc, *others))
    if "gcc" in said:
        nvcc = next(tool for tool in found.compilers if tool.name == "nvcc")
        found = replace(found, compilers=(nvcc, Tool(name="gcc", version=str(said["gcc"]))))
    if "loader_resolves" in said:
        paths = said["loader_resolves"]
        resolved = tuple(Resolved(name=name, path=path) for name, path in paths.items())
        kept = tuple(one for one in found.resolves if one.name not in paths)
        found = replace(found, resolves=(*kept, *resolved), drivers=tuple(paths.values()))
    if "packages" in said:
        found = replace(found, apt=Pairs(dict.fromkeys(said["packages"], "made")))
    if "arch" in said:
        found = replace(found, platform={"aarch64": "linux/arm64"}[said["arch"]])
    return found


def lock(said: Given) -> Lock:
    """A lock, *made*: versions as the case says, hashes of nothing."""
    python = {name: str(version) for name, version in said.items() if name != "cuda"}
    cuda = said.get("cuda", "12.6")
    return Lock(
        tool="made",
        plan="sha256:" + "a" * 64,
        matrix=MatrixId(date="2026-12-01", digest="sha256:" + "b" * 64),
        platform="linux/amd64",
        base=LockedBase(
            ref=f"docker.io/nvidia/cuda:{cuda}.3-devel-ubuntu24.04",
            digest="sha256:" + "c" * 64,
            platform="linux/amd64",
        ),
        python="3.12",
        wheels=tuple(
            Wheel(name=name, version=version, file=f"{name}.whl", sha256="d" * 64, index="made")
            for name, version in python.items()
        ),
        templates=Pairs(),
        probes=Pairs(),
    )


def _suites(given: Given) -> tuple[str, ...]:
    """Required ones, and the ones whose tools were tried beside them."""
    tried = " ".join(given.get("observed") or {})
    beside = [name for name in ("ncu", "nsys", "cuda-gdb") if name in tried and "tools" in SUITES]
    return (*given["require"], *(("tools",) if beside else ()))


def _text(given: Given, word: str) -> str:
    said = given.get("observed") or {}
    return next((str(text) for name, text in said.items() if name.startswith(word)), "")


def _pinned(one: Device, text: str) -> Device:
    size = re.search(r"([\d.]+) GB", text)
    assert size, text
    return msgspec.structs.replace(one, pinned_mib=int(float(size[1]) * 1024))


def _device(named: Given, said: Given) -> Device:
    """The GPU that the case names, else an RTX 4090."""
    name = str(named.get("name", "GeForce RTX 4090"))
    fitting = [one for one in devices() if name in one.name and one.mig == bool(named.get("mig"))]
    if fitting:
        one = fitting[0]
    else:
        # A product that nobody described: like one of its capability, under its own name.
        like = next(d for d in devices() if d.cc == str(named["cc"]) and not d.mig)
        one = msgspec.structs.replace(like, name=name)
    assert str(named.get("cc", one.cc)) == one.cc
    if said.get("wsl"):
        one = msgspec.structs.replace(one, platform="wsl2", launch_us=85.0, row_us=6.0, node_us=1.9)
    return one


def _place(one: Device, said: Given, named: Given) -> Place:
    there = place(one, str(said.get("driver") or DRIVER))
    host = there.host
    if mig := named.get("mig"):
        gpu: Gpu = replace(host.gpus[0], mig=Mig(enabled=True, instances=tuple(mig)))
        host = replace(host, gpus=(gpu,))
    if said.get("inside_container"):
        host = replace(host, inside_container="kubernetes")
    if "cap_sys_admin" in said:
        assert said["cap_sys_admin"] is False  # whoever has it needs no advice
    if "arch" in said:
        host = replace(host, os=replace(host.os, arch=said["arch"]))
    if said.get("wsl"):
        host = replace(host, wsl=Wsl(generation=2, version="2.4.10"), platform="wsl2")
    if said.get("driver"):
        host = replace(host, driver=Driver(version=str(said["driver"]), cuda=None, source="made"))
    return Place(host, there.engine)


def _torch(said: Given, found: ImageFacts) -> ImageFacts:
    version = str(said["torch"])
    local = re.search(r"\+cu(\d\d)(\d)$", version)
    cuda = said.get("torch_cuda", f"{local[1]}.{local[2]}" if local else None)
    others = tuple(t for t in found.framework if t.name not in {"torch", "torch.cuda"})
    tools = (Tool(name="torch", version=version), Tool(name="torch.cuda", version=cuda))
    packages = {**dict(found.packages), "torch": version.partition("+")[0]}
    if "+" in version:
        packages["torch"] = version
    return replace(found, framework=(*tools, *others), packages=Pairs(packages))


def _cupy(said: Given, found: ImageFacts) -> ImageFacts:
    package, version = str(said["cupy"]).split()
    packages = {n: v for n, v in found.packages if not n.startswith("cupy")} | {package: version}
    others = tuple(t for t in found.framework if not t.name.startswith("cupy"))
    tools = [Tool(name="cupy", version=version)]
    tools += [Tool(name="cupy.nvrtc", version=str(said["nvrtc"]))] if said.get("nvrtc") else []
    return replace(found, framework=(*others, *tools), packages=Pairs(packages))
