"""Observations of tools: what they printed on an H200, put together as a run would have kept it.

The texts in `recorded/tools` were printed there (CUDA 13.0 image, driver 580.159.04, 2026-12-02)
by the commands of the suites on `kernels/bugs.cu`, whose names then held the number that is
`samples.NONCE`. Shortened: device attributes in ncu's rows, repeated findings of synccheck; the
uuid is zeroed. Texts of nsys are made: of the probe's form, with the sizes that nsys left there.
"""

from pathlib import Path

from envbuild.certify.seen import Ran, Seen, Session
from envbuild.certify.suites.correct import sanitizer
from envbuild.values.codec import replace
from tests.certify import samples

_RECORDED = Path(__file__).with_name("recorded") / "tools"
BIN = "/usr/local/cuda/bin"


def recorded(name: str) -> str:
    return (_RECORDED / f"{name}.txt").read_text(encoding="utf-8")


def has(now: Seen, *tools: str) -> Seen:
    """The same with these tools on the image's PATH."""
    which = now.step("which")
    assert which is not None
    lines = "".join(f"{tool} {BIN}/{tool}\n" for tool in tools)
    return samples.changed(now, "which", out=which.out + lines)


def sanitized(**changes: Ran | None) -> Seen:
    """All three tools of the sanitizer on their bugs and on the clean kernel.

    Args:
        changes: steps by their names behind ``correct.sanitizer.``, with ``_`` for the dot, in
            place of what was recorded; None leaves one out.
    """
    steps = []
    for tool in sanitizer.TOOLS:
        for kernel, rc in ((tool.bug, 86), ("clean", 0)):
            name = f"{tool.name}.{kernel}"
            ran: Ran | None = Ran(step="", rc=rc, out=recorded(name))
            ran = changes.get(name.replace(".", "_"), ran)
            if ran is not None:
                steps.append(replace(ran, step=f"{sanitizer.NAME}.{name}"))
    now = has(samples.seen("toolchain", "smoke", "correct"), "compute-sanitizer")
    session = Session(name=sanitizer.NAME, rc=0, seconds=7.0, steps=tuple(steps))
    return replace(now, sessions=(*now.sessions, session))


def _holds(size: int, times: int) -> str:
    start = f'{{"event":"start","nonce":"{samples.NONCE}"}}'
    end = f'{{"event":"end","nonce":"{samples.NONCE}"}}'
    return f'{start}\n{{"event":"holds","bytes":{size},"times":{times}}}\n{end}\n'


HOLDS = {
    "tools.nsys.holds": _holds(700_416, 2),
    "tools.nsys.other.holds": _holds(700_416, 0),
    "tools.nsys.empty.holds": _holds(0, 0),
    "tools.nsys.stale.holds": _holds(31, 0),
}
_FAILED = {"tools.ncu.empty.read": 1, "tools.cuda-gdb.nothing": 1}


def watched(*tools: str, **changes: Ran | None) -> Seen:
    """The tools of a run, each as it went on the H200.

    Args:
        tools: those that the image has, None named = all.
        changes: steps by their names behind ``tools.``, with ``_`` for the dots and dashes.
    """
    tools = tools or ("cuda-gdb", "nsys", "ncu")
    texts: dict[str, str] = {}
    if "cuda-gdb" in tools:
        texts |= {f"tools.{name}": recorded(name) for name in ("cuda-gdb", "cuda-gdb.nothing")}
    if "nsys" in tools:
        texts |= {"tools.nsys": "Generated:\n    /s/tools.nsys.nsys-rep\n", "tools.nsys.other": ""}
        texts |= HOLDS
    if "ncu" in tools:
        names = ("ncu", "ncu.read", "ncu.other", "ncu.other.read", "ncu.empty.read")
        texts |= {f"tools.{name}": recorded(name) for name in names}
        texts["tools.sampling"] = recorded("ncu")
        sampled = recorded("ncu.read").replace("gpu__time_duration.sum", _SAMPLED)
        texts["tools.sampling.read"] = sampled
    steps = []
    for step, text in texts.items():
        key = step.removeprefix("tools.").replace(".", "_").replace("-", "_")
        ran = changes.get(key, Ran(step=step, rc=_FAILED.get(step, 0), out=text))
        if ran is not None:
            steps.append(replace(ran, step=step))
    now = has(samples.seen("toolchain", "smoke", "tools"), *tools)
    session = Session(name="tools", rc=0, seconds=20.0, steps=tuple(steps))
    return replace(now, sessions=(*now.sessions, session))


_SAMPLED = "pmsampling:sm__cycles_active.avg"
