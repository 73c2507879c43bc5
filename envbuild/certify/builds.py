"""What frameworks in an image were built for: read from their own words, and put back into them."""

import json
from collections.abc import Iterator

from envbuild.certify.seen import Ran, Seen, Session
from envbuild.certify.suites.cupy import build as cupy
from envbuild.certify.suites.frameworks import Said, answer
from envbuild.certify.suites.torch import build as torch
from envbuild.values.host import Tool
from envbuild.values.image import ImageFacts

# Field of a build's line, what the tool is called, and the step that says it.
_TOLD = (
    (torch.STEP, "torch", "cuda", "torch.cuda"),
    (cupy.STEP, "cupy", "cuda", "cupy.cuda"),
    (cupy.STEP, "cupy", "nvrtc", "cupy.nvrtc"),
    ("numba.kernels", "numba", "nvrtc", "numba.nvrtc"),
    ("triton.softmax", "triton", "ptxas", "triton.ptxas"),
    ("cuda-python.bindings", "cuda-python", "nvrtc", "cuda-python.nvrtc"),
)


def arch_list(seen: Seen) -> tuple[str, ...]:
    """Targets that torch was built for, as torch lists them; empty = it was not asked."""
    line = _line(seen, torch.STEP)
    return line.targets if line else ()


def tools(seen: Seen) -> tuple[Tool, ...]:
    """Frameworks and what they bring, with versions, from what they said of themselves."""
    found = {}
    for step, name, field, tool in _TOLD:
        line = _line(seen, step)
        if line is None:
            continue
        found[name] = Tool(name=name, version=line.version, source=step)
        if text := getattr(line, field):
            found[tool] = Tool(name=tool, version=text, source=step)
    return tuple(found.values())


def told(facts: ImageFacts, nonce: str) -> Iterator[Session]:
    """The runs that would have found these facts of torch and of cupy, in the probes' words."""
    have = {tool.name: tool.version or "" for tool in facts.framework}
    if facts.arch_list or "torch.cuda" in have:
        line = {"version": have.get("torch", ""), "cuda": have.get("torch.cuda", "")}
        yield _session(torch.STEP, nonce, {**line, "targets": facts.arch_list, "available": True})
    if "cupy" in have:
        line = {"version": have["cupy"], "cuda": have.get("cupy.cuda", "")}
        # A cupy that was asked and names no NVRTC found none.
        says = "" if "cupy.nvrtc" in have else "libnvrtc.so: cannot open shared object file"
        nvrtc = have.get("cupy.nvrtc", "")
        yield _session(cupy.STEP, nonce, {**line, "nvrtc": nvrtc, "says": says})


def _line(seen: Seen, step: str) -> Said | None:
    return answer(seen, step, "")[0].one("build") if seen.step(step) else None


def _session(step: str, nonce: str, build: dict[str, object]) -> Session:
    name = step.partition(".")[0]
    lines = (
        {"event": "start", "nonce": nonce},
        {"event": "build", "name": name, **build},
        {"event": "end", "nonce": nonce},
    )
    out = "\n".join(map(json.dumps, lines))
    return Session(name=step, rc=0, steps=(Ran(step=step, rc=0, out=out),))
