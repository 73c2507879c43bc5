"""Observations of the framework suites that are made, in the form that the probes print.

The figures of the results are those of one H200 with torch 2.11.0+cu130 (probes run on it by hand,
2026-12-02); versions, errors and everything that a test changes are made.
"""

import json
from collections.abc import Mapping

from envbuild.certify.floors import floors
from envbuild.certify.judge import Judgement, judge
from envbuild.certify.seen import Ran, Seen, Session
from envbuild.matrix.load import load
from envbuild.values.certificate import Check
from envbuild.values.codec import replace
from envbuild.values.host import Gpu
from tests.certify import samples

CU130 = ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120")
PACKAGES = {
    "torch": "2.11.0",
    "triton": "3.6.0",
    "numba": "0.68.0",
    "numba-cuda": "0.30.4",
    "cupy-cuda13x": "14.2.0",
    "cuda-bindings": "13.3.1",
    "cuda-core": "1.2.0",
}
SUITES = ("torch", "numba", "cupy", "triton", "cuda-python")

Line = dict[str, object]


def doing(name: str) -> Line:
    return {"event": "doing", "name": name}


def equal(name: str, wrong: int, compared: int = 1048579, control: str = "") -> Line:
    return {
        "event": "equal",
        "name": name,
        "control": control,
        "wrong": wrong,
        "compared": compared,
    }


def near(name: str, error: float | None, control: str = "") -> Line:
    line: Line = {"event": "near", "name": name, "control": control, "error": error}
    return {**line, "compared": 81920}


def error(kind: str, says: str) -> Line:
    return {"event": "error", "kind": kind, "says": says}


def said(*lines: Line, nonce: str = samples.NONCE) -> str:
    """The whole answer of a part."""
    start: Line = {"event": "start", "nonce": nonce, "python": "3.12.3"}
    return "\n".join(map(json.dumps, (start, *lines, {"event": "end", "nonce": nonce})))


def built(
    version: str = "2.11.0+cu130", cuda: str = "13.0", targets: tuple[str, ...] = CU130
) -> Line:
    line: Line = {"event": "build", "name": "torch", "version": version, "cuda": cuda}
    return {**line, "other": "", "targets": targets, "available": True}


def near_all(**errors: float) -> tuple[Line, ...]:
    pairs = ((near(n, e), near(n, 0.36, "wrong stride")) for n, e in errors.items())
    return tuple(line for pair in pairs for line in pair)


_DEVICE: Line = {"event": "device", "name": "NVIDIA H200", "cc": "9.0"}
_TIMES: tuple[Line, ...] = (
    {"event": "time", "name": "torch", "ms": [0.0557, 0.0553, 0.0577], "bytes": 201326628},
    {"event": "time", "name": "by hand", "ms": [0.0724, 0.0734, 0.0743], "bytes": 201326628},
)
_REFUSED = (
    "CUDA error: operation not permitted when stream is capturing\n"
    "CUDA error: operation failed due to a previous error during capture"
)
_BROKEN: Line = {
    "event": "refused",
    "name": "broken source",
    "says": 'add.cu(6): error: identifier "no_such_name" is undefined',
}
ANSWERS: dict[str, tuple[Line, ...]] = {
    "torch.build": (doing("import torch"), built()),
    "torch.eager": (
        doing("eager kernels"),
        _DEVICE,
        equal("elementwise", 0),
        equal("elementwise", 1, control="changed element"),
        equal("elementwise", 1048579, control="skipped kernel"),
        equal("reduction", 0, 1),
        equal("reduction", 1, 1, "an element less"),
        equal("gather", 0),
        equal("gather", 1048575, control="other order"),
    ),
    "torch.matmul": near_all(f64=3.7e-16, f32=5.9e-8, tf32=7.0e-5, f16=1.0e-4, bf16=5.5e-4),
    "torch.conv": (
        {"event": "cudnn", "number": 91900, "on": True, "off": False},
        *near_all(f64=0.0, f32=2.2e-7, tf32=2.2e-7, f16=1.4e-4, bf16=1.3e-3),
    ),
    "torch.add": (
        equal("torch and kernel", 0),
        equal("torch and kernel", 1, control="changed element"),
        equal("torch and kernel", 1048579, control="skipped kernel"),
        equal("torch and CPU", 0),
        equal("torch and CPU", 1, control="changed element"),
        *_TIMES,
    ),
    "torch.graph": (
        doing("replay"),
        near("replay 1", 3.2e-7),
        near("replay 1", 0.22, "the other input"),
        near("replay 2", 2.6e-7),
        near("replay 2", 0.22, "the other input"),
        near("replay after a refusal", 0.22, "changed input, no replay"),
        {"event": "refused", "name": "synchronize in a capture", "says": _REFUSED},
        near("replay after a refusal", 2.8e-7),
    ),
    "torch.extension": (
        {"event": "toolkit", "path": "/usr/local/cuda", "target": "9.0"},
        equal("extension and torch", 0),
        equal("extension and torch", 1, control="changed element"),
        {
            "event": "refused",
            "name": "a tensor of the CPU",
            "says": "both tensors must be on the GPU",
        },
    ),
    "torch.compile": (
        near("compiled", 1.2e-7),
        {"event": "kernels", "name": "compiled", "count": 1},
        near("compiled", 0.097, "another function"),
        {"event": "kernels", "name": "eager", "count": 0},
    ),
    "numba.kernels": (
        {
            "event": "build",
            "name": "numba",
            "version": "0.68.0",
            "other": "0.30.4",
            "nvrtc": "13.0",
        },
        _DEVICE,
        equal("add", 1048579, control="skipped kernel"),
        doing("compile and run add"),
        equal("add", 0),
        equal("add", 1, control="changed element"),
        equal("reduction", 0, 1),
        equal("reduction", 1, 1, "an element less"),
    ),
    "cupy.build": (
        {"event": "build", "name": "cupy", "version": "14.2.0", "cuda": "13.2", "nvrtc": "13.0"},
    ),
    "cupy.jit": (
        equal("raw kernel", 0),
        equal("raw kernel", 1048579, control="skipped kernel"),
        equal("raw kernel", 1, control="changed element"),
        equal("elementwise", 0),
        equal("elementwise", 1048578, control="swapped inputs"),
        _BROKEN,
    ),
    "cupy.matmul": near_all(f64=4.7e-16, f32=5.8e-8),
    "triton.softmax": (
        {"event": "build", "name": "triton", "version": "3.6.0", "ptxas": "12.8", "path": "/p"},
        _DEVICE,
        near("softmax", 8.3e-7),
        {"event": "code", "name": "softmax", "target": "sm_90a", "count": 14992},
        near("softmax", 0.0108, "a column left out"),
    ),
    "cuda-python.bindings": (
        {"event": "build", "name": "cuda-python", "version": "13.3.1", "nvrtc": "13.0"},
        _BROKEN,
        equal("add", 262147, 262147, "skipped kernel"),
        {"event": "answer", "name": "bad launch", "code": 1},
        equal("add", 0, 262147),
        equal("add", 1, 262147, "changed element"),
    ),
    "cuda-python.core": (
        equal("add", 262147, 262147, "skipped kernel"),
        equal("add", 0, 262147),
        equal("add", 1, 262147, "changed element"),
    ),
}
# Targets of a torch of CUDA 12.6.
PASCAL = ("sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90")
# torch/_inductor/scheduler.py
P100 = (
    "Found Tesla P100 which is too old to be supported by the triton GPU compiler, which is used "
    "as the backend. Triton only supports devices of CUDA Capability >= 7.0, but your device is "
    "of CUDA capability 6.0"
)
_SESSIONS = {
    "torch.build": ("torch.build",),
    "torch.parts": tuple(n for n in ANSWERS if n.startswith("torch.") and n != "torch.build"),
    "numba": ("numba.kernels",),
    "cupy.build": ("cupy.build",),
    "cupy.parts": ("cupy.jit", "cupy.matmul"),
    "triton": ("triton.softmax",),
    "cuda-python": ("cuda-python.bindings", "cuda-python.core"),
}


def seen(*suites: str, cc: str = "9.0", packages: Mapping[str, str] = PACKAGES) -> Seen:
    """Everything healthy on one GPU, in an image with these packages."""
    have = dict(packages)
    now = samples.seen("toolchain", "smoke", *(suites or SUITES))
    torch = {"version": have["torch"], "cuda": "13.0"} if "torch" in have else None
    text = {"python": "3.12.3", "packages": have, "torch": torch, "error": ""}
    now = samples.changed(now, "packages", rc=0, out=json.dumps(text), err="")
    gpu = Gpu(name="made", uuid="GPU-1", cc=cc)
    target = cc.replace(".", "")
    now = replace(
        now,
        choice=replace(now.choice, gpu=gpu),
        terms=replace(now.terms, cc=(cc,), promise=(target,)),
        floors=floors(load(), have),
        codes=tuple(
            replace(code, targets=(target,)) if code.name in {"image", "prebuilt"} else code
            for code in now.codes
        ),
        sessions=(*now.sessions, *(_session(name) for name in _SESSIONS)),
    )
    major, minor = cc.split(".")
    now = samples.smoke(now, ('"major":9,"minor":0', f'"major":{major},"minor":{minor}'))
    for name, lines in ANSWERS.items():
        if any(line["event"] == "device" for line in lines):
            now = answers(now, name, *(({**n, "cc": cc} if "cc" in n else n) for n in lines))
    return now


def _session(name: str) -> Session:
    steps = (Ran(step=step, rc=0, out=said(*ANSWERS[step])) for step in _SESSIONS[name])
    return Session(name=name, rc=0, seconds=1.0, steps=tuple(steps))


def answers(now: Seen, step: str, *lines: Line) -> Seen:
    """The same with another answer of one part."""
    return samples.changed(now, step, out=said(*lines))


def instead(now: Seen, step: str, name: str, control: str, **fields: object) -> Seen:
    """The same with fields of one result, or of one control, changed."""
    lines = [
        {**line, **fields}
        if (line.get("name"), line.get("control", "")) == (name, control)
        else line
        for line in ANSWERS[step]
    ]
    assert lines != list(ANSWERS[step]), (step, name, control)
    return answers(now, step, *lines)


def cut(now: Seen, *sessions: str) -> Seen:
    """The same without these container runs."""
    return replace(now, sessions=tuple(s for s in now.sessions if s.name not in sessions))


def found(now: Seen, name: str) -> Check:
    """One check, judged."""
    result = judge(now, now.asked)
    return next(c for suite in result.suites for c in suite.checks if c.id == name)


def verdict(now: Seen, name: str) -> tuple[str, str | None]:
    check = found(now, name)
    return check.verdict, check.blame


def required(now: Seen, suite: str) -> Judgement:
    """The run's outcome where this suite is required."""
    return judge(now, (suite,))
