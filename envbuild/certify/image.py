"""What an image is, as a value: read from observations, and told again in the probes' words."""

import json
import re
from collections.abc import Iterator

from envbuild.certify import builds, facts
from envbuild.certify.probes import DRIVER_LIBRARIES
from envbuild.certify.seen import Event, Ran, Seen
from envbuild.errors import InputError
from envbuild.values.codec import Pairs
from envbuild.values.host import Tool
from envbuild.values.image import ImageFacts, Resolved


def image_facts(seen: Seen) -> ImageFacts:
    """The observations as the value that other stages read, and that a replay is given."""
    found = facts.which(seen.step("which"))
    now = None
    if facts.compiler(seen) == "nvcc":
        now = facts.pair(seen.step("pair")) or facts.pair(seen.step("pair-anyway"))
    os_file = seen.step("os")
    lines = (os_file.out if os_file else "").splitlines()
    release = dict(line.split("=", 1) for line in lines if "=" in line)
    os_id, os_version = (release.get(k, "").strip('"') for k in ("ID", "VERSION_ID"))
    compilers = []
    if now:
        compilers = [
            Tool(name="nvcc", version=now.cuda, path=found.get("nvcc"), source="nvcc -E"),
            Tool(name=now.host, version=f"{now.major}.{now.minor}", source="nvcc -E"),
        ]
    loaded = facts.loads(seen.step("loads")) or {}
    python = facts.packages(seen.step("packages"))
    frameworks: dict[str, Tool] = {}
    if python.torch:
        by = {"torch": python.torch, "torch.cuda": python.torch_cuda}
        frameworks = {n: Tool(name=n, version=v, source="torch/version.py") for n, v in by.items()}
    frameworks |= {tool.name: tool for tool in builds.tools(seen)}
    return ImageFacts(
        ref=seen.image.ref,
        platform=seen.image.platform,
        os=f"{os_id}{os_version}" or None,
        shell=found.get("sh"),
        compilers=tuple(compilers),
        resolves=tuple(_resolved(load) for load in loaded.values()),
        drivers=facts.baked(seen),
        framework=tuple(frameworks.values()),
        arch_list=builds.arch_list(seen),
        python=python.python,
        packages=Pairs(python.versions),
        apt=Pairs(facts.apt(seen.step("dpkg")) or {}),
        labels=seen.image.labels,
        env=seen.image.env,
        user=seen.image.user,
    )


def _named(paths: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Each path with the name that programs load it by."""
    return ((path.rsplit("/", 1)[-1], path) for path in paths)


def _resolved(load: Event) -> Resolved:
    return Resolved(
        name=load.name,
        path=load.path or None,
        version=facts.version(load.version) if load.version else None,
        error=load.error if load.error and facts.there(load) else None,
    )


def steps(image: ImageFacts) -> Iterator[Ran]:
    """The look at an image that would have found these facts, in the probes' words."""
    tools = {tool.name: tool for tool in image.compilers}
    found = [f"{tool.name} {tool.path}" for tool in image.compilers if tool.path]
    found += [f"sh {image.shell}"] if image.shell else []
    yield Ran(step="which", rc=0, out="\n".join(found))
    if image.os:
        name = image.os.rstrip("0123456789.")
        yield Ran(step="os", rc=0, out=f"ID={name}\nVERSION_ID={image.os[len(name) :]}\n")
    resolved = {name: Resolved(name=name) for name in DRIVER_LIBRARIES}
    resolved |= {name: Resolved(name=name, path=path) for name, path in _named(image.drivers)}
    resolved |= {one.name: one for one in image.resolves}
    yield Ran(step="loads", rc=0, out="\n".join(_load(one) for one in resolved.values()))
    cached = (f"\t{name} (libc6,x86-64) => {path}" for name, path in _named(image.drivers))
    yield Ran(step="ldconfig", rc=0, out="\n".join(cached))
    nvcc, host = tools.get("nvcc"), tools.get("gcc") or tools.get("clang")
    if nvcc and host:
        major, minor, *_ = [*(host.version or "0").split("."), "0"]
        cuda = " ".join([*(nvcc.version or "").split("."), "0", "0"][:3])
        line = f"envbuild_pair host {host.name} {major} {minor} cuda {cuda} end\n"
        yield Ran(step="pair", rc=0, out=line)
        yield Ran(step="pair-anyway", rc=0, out=line)
    torch = {tool.name: tool.version for tool in image.framework}
    build = {"version": torch["torch"], "cuda": torch.get("torch.cuda")} if torch else None
    packages = dict(image.packages)
    answer = {"python": image.python, "packages": packages, "torch": build, "error": ""}
    python = Ran(step="packages", rc=0, out=json.dumps(answer))
    yield python if image.python else Ran(step="packages", rc=127, err="python3 is not there")
    if image.apt:
        lines = "\n".join(f"{name}={version}" for name, version in image.apt)
        yield Ran(step="dpkg", rc=0, out=lines)


def _load(one: Resolved) -> str:
    missing = f"{one.name}: cannot open shared object file: No such file or directory"
    error = one.error or ("" if one.path else missing)
    said = re.fullmatch(r"(\d{1,3})\.(\d{1,2})", one.version or "0.0")
    if said is None:
        what = f"{one.name} cannot have the version {one.version!r}"
        raise InputError(what, fix="a CUDA version is written 13.0")
    major, minor = (int(part) for part in said.groups())
    event = {"event": "load", "name": one.name, "path": one.path or "", "error": error}
    return json.dumps({**event, "signal": 0, "version": major * 1000 + minor * 10})
