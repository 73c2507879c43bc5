"""`kernels/frameworks` as it prints, by the image's interpreter."""

import json

from envbuild.certify.suites.torch.build import runs_on
from tests.certify.simulated.machine import Answer, Call, Program, ran
from tests.certify.simulated.speech import Speech

COUNT = (1 << 20) + 3
_CAPTURING = "CUDA error: operation not permitted when stream is capturing"


class Talk(Speech):
    """The answer of one part, by the words of `envbuild_say.py`."""

    def __init__(self, call: Call) -> None:
        super().__init__()
        self.call = call
        self.say("start", nonce=call.argv[2], python=call.inside.python)

    def doing(self, what: str) -> None:
        self.say("doing", name=what)

    def equal(self, name: str, controls: dict[str, int], compared: int = COUNT) -> None:
        """A result and its controls: how many elements each finds wrong."""
        full = f"{self.call.step} {name}"
        wrong = 4 if {full, self.call.step} & set(self.call.trouble.wrong) else 0
        self.say("equal", name=name, control="", wrong=wrong, compared=compared)
        for control, found in controls.items():
            seen = 0 if control in self.call.trouble.green else found
            self.say("equal", name=name, control=control, wrong=seen, compared=compared)

    def near(self, name: str, error: float, *controls: str) -> None:
        """A result and its controls: the largest error, and that of a wrong result."""
        trouble, full = self.call.trouble, f"{self.call.step} {name}"
        mine = {full, self.call.step}
        worst: float | None = 0.2 if mine & set(trouble.wrong) else error
        worst = None if mine & set(trouble.nan) else worst
        self.say("near", name=name, control="", error=worst, compared=4096)
        for control in controls:
            seen = error if control in trouble.green else 0.36
            self.say("near", name=name, control=control, error=seen, compared=4096)

    def refused(self, name: str, text: str) -> None:
        self.say("refused", name=name, says="" if name in self.call.trouble.green else text)

    def device(self) -> None:
        self.say("device", name=self.call.device.name, cc=self.call.device.cc)

    def done(self) -> Answer:
        """The end, or the exception that it ends with."""
        for step, text in self.call.trouble.says:
            if step == self.call.step:
                self.lines = [line for line in self.lines if '"near"' not in line]
                self.lines = [line for line in self.lines if '"equal"' not in line]
                self.say("error", kind="RuntimeError", says=text)
        self.say("end", nonce=self.call.argv[2])
        return Answer(self.text)


def _dtypes(call: Call) -> list[tuple[str, float]]:
    """(dtype, a usual error) of what the device has."""
    ampere = int(call.device.cc.partition(".")[0]) >= 8
    found = [("f64", 4e-16), ("f32", 6e-8)]
    found += [("tf32", 7e-5)] if ampere else []
    return [*found, ("f16", 1e-4), *([("bf16", 6e-4)] if ampere else [])]


def _torch_build(call: Call) -> Answer:
    talk, now = Talk(call), call.inside
    talk.say("build", name="torch", version=now.torch, cuda=now.torch_cuda, other="",
             targets=list(now.targets), available=bool(now.torch_cuda))  # fmt: skip
    return talk.done()


def _covered(call: Call) -> bool:
    listed = [target.partition("_") for target in call.inside.targets]
    sass = tuple(number for kind, _, number in listed if kind == "sm")
    ptx = tuple(number for kind, _, number in listed if kind == "compute")
    return bool(runs_on(sass, ptx, call.device.cc))


def _torch_eager(call: Call) -> Answer:
    talk = Talk(call)
    talk.device()
    if not _covered(call):
        talk.say("error", kind="RuntimeError", says="CUDA error: no kernel image is available")
        return Answer(talk.text)
    talk.equal("elementwise", {"changed element": 1, "skipped kernel": COUNT})
    talk.equal("reduction", {"an element less": 1}, 1)
    talk.equal("gather", {"other order": COUNT - 4})
    return talk.done()


def _products(call: Call) -> Answer:
    talk = Talk(call)
    if call.step == "torch.conv":
        talk.say("cudnn", number=91002, on=True, off="cuDNN switched off" in call.trouble.green)
    for name, error in _dtypes(call):
        talk.near(name, error, "wrong stride")
    return talk.done()


def _torch_add(call: Call) -> Answer:
    talk, count = Talk(call), (1 << 24) + 3
    talk.equal("torch and kernel", {"changed element": 1, "skipped kernel": count}, count)
    talk.equal("torch and CPU", {"changed element": 1}, count)
    each = 12 * count / (call.device.read_gbs * call.trouble.dram * 1e6)
    for name, times in (("torch", 1.0), ("by hand", 1.02)):
        spread = [each * times * (1 + abs(call.random.gauss(0, 0.01))) for _ in range(10)]
        talk.say("time", name=name, ms=spread, bytes=12 * count)
    return talk.done()


def _torch_graph(call: Call) -> Answer:
    talk = Talk(call)
    for what in ("warm-up on a side stream", "capture", "replay"):
        talk.doing(what)
    for name in ("replay 1", "replay 2"):
        talk.near(name, 3e-7, "the other input")
    talk.refused("synchronize in a capture", _CAPTURING)
    talk.near("replay after a refusal", 3e-7, "changed input, no replay")
    return talk.done()


def _torch_extension(call: Call) -> Answer:
    talk = Talk(call)
    talk.say("toolkit", path="/usr/local/cuda", target=call.device.cc)
    talk.doing("build the extension")
    talk.equal("extension and torch", {"changed element": 1})
    talk.refused("a tensor of the CPU", "a must be on the GPU")
    return talk.done()


def _torch_compile(call: Call) -> Answer:
    talk = Talk(call)
    talk.doing("torch.compile")
    if int(call.device.cc.partition(".")[0]) < 7:
        text = (
            f"Found {call.device.name} which is too old to be supported by the triton GPU compiler"
        )
        talk.say("error", kind="GPUTooOldForTriton", says=text)
        talk.say("end", nonce=call.argv[2])
        return Answer(talk.text)
    talk.near("compiled", 1e-7, "another function")
    talk.say("kernels", name="compiled", count=1)
    talk.say("kernels", name="eager", count=1 if "without Inductor" in call.trouble.green else 0)
    return talk.done()


def _numba(call: Call) -> Answer:
    talk, now = Talk(call), call.inside
    talk.say(
        "build", name="numba", version="0.61.2", other="0.20.0", nvrtc=now.nvrtc, cuda=now.cuda
    )
    talk.device()
    talk.equal("add", {"skipped kernel": COUNT, "changed element": 1})
    talk.equal("reduction", {"an element less": 1}, 1)
    return talk.done()


def _cupy_build(call: Call) -> Answer:
    talk, now = Talk(call), call.inside
    found = {"nvrtc": now.nvrtc} if now.nvrtc else {
        "says": f"libnvrtc.so.{now.cupy.partition('.')[0]}: cannot open shared object file: "
        "No such file or directory"
    }  # fmt: skip
    talk.say("build", name="cupy", version="13.6.0", cuda=now.cupy, **found)
    return talk.done()


def _cupy_jit(call: Call) -> Answer:
    talk = Talk(call)
    talk.say("device", cc=call.device.cc)
    talk.equal("raw kernel", {"skipped kernel": COUNT, "changed element": 1})
    talk.equal("elementwise", {"swapped inputs": COUNT - 1})
    talk.refused("broken source", 'identifier "no_such_name" is undefined')
    return talk.done()


def _cupy_matmul(call: Call) -> Answer:
    talk = Talk(call)
    for name, error in (("f64", 4e-16), ("f32", 6e-8)):
        talk.near(name, error, "wrong stride")
    return talk.done()


def _triton(call: Call) -> Answer:
    talk = Talk(call)
    talk.say("build", name="triton", version="3.4.0", ptxas="12.8", path="/made/triton/bin/ptxas")
    talk.device()
    talk.near("softmax", 2e-7, "a column left out")
    talk.say("code", name="softmax", target=f"sm_{call.device.cc.replace('.', '')}", count=9000)
    return talk.done()


def _bindings(call: Call) -> Answer:
    talk, count = Talk(call), (1 << 18) + 3
    talk.say("build", name="cuda-python", version="12.8.0", nvrtc=call.inside.nvrtc)
    talk.say("device", name="", cc=call.device.cc)
    talk.refused("broken source", 'identifier "no_such_name" is undefined')
    talk.say("answer", name="bad launch", code=0 if "bad launch" in call.trouble.green else 1)
    talk.equal("add", {"skipped kernel": count, "changed element": 1}, count)
    return talk.done()


def _core(call: Call) -> Answer:
    talk, count = Talk(call), (1 << 18) + 3
    talk.equal("add", {"skipped kernel": count, "changed element": 1}, count)
    return talk.done()


def _apart(call: Call) -> Answer:
    """Each part as the runner would report it, up to one that does not end by itself."""
    lines = []
    for step, seconds, part in json.loads(call.argv[4]):
        ended = ran(call._replace(step=step, argv=("python3", *part)), int(seconds * 1000))
        lines.append(json.dumps(ended))
        if ended["rc"]:
            break
    return Answer("\n".join(lines))


PROGRAMS: dict[str, Program] = {
    "envbuild_apart.py": _apart,
    "torch_build.py": _torch_build,
    "torch_eager.py": _torch_eager,
    "torch_matmul.py": _products,
    "torch_conv.py": _products,
    "torch_add.py": _torch_add,
    "torch_graph.py": _torch_graph,
    "torch_extension.py": _torch_extension,
    "torch_compile.py": _torch_compile,
    "numba_kernels.py": _numba,
    "cupy_build.py": _cupy_build,
    "cupy_jit.py": _cupy_jit,
    "cupy_matmul.py": _cupy_matmul,
    "triton_softmax.py": _triton,
    "cuda_python_bindings.py": _bindings,
    "cuda_python_core.py": _core,
}
