"""What suite `fast` runs inside the image: its compiler once, then each part of the runner."""

from envbuild.certify import facts
from envbuild.certify.seen import Seen
from envbuild.certify.steps import Bench, Step
from envbuild.certify.suites.fast.codegen import COMPILE
from envbuild.certify.terms import covers

# Each in a process of its own: what one breaks, the others do not meet.
PARTS = ("compute", "memory", "copies", "latency", "tensor", "cublas")
_OWN = "codegen"  # where the image's compiler made something
_FILE = "fast.image"
# Code compiled at load time would be the driver's work, not the image's.
_NO_JIT = ("CUDA_DISABLE_PTX_JIT=1",)
_SECONDS = 25.0


def compiling(bench: Bench, seen: Seen) -> Step:
    """The image's compiler on the sources of the paired kernels, for the target of this GPU."""
    gpu = seen.choice.gpu
    target = covers(seen.terms.promise, gpu.cc) if gpu and gpu.cc else None
    target = target or seen.terms.promise[0]
    if facts.compiler(seen) == "nvcc":
        compiler = ["nvcc", "-fatbin", "-gencode", f"arch=compute_{target},code=sm_{target}"]
    else:
        compiler = ["nvrtc", f"-arch=sm_{target}", f"-I{bench.probe()}"]
    named = f"-DENVBUILD_RUN={seen.nonce}"
    argv = (*compiler, named, "-o", bench.out(_FILE), bench.probe("paired.cu"))
    return Step(COMPILE, argv, (f"TMPDIR={bench.out()}",), 120.0)


def running(bench: Bench, seen: Seen, *, own: bool) -> tuple[Step, ...]:
    """Every part, and the image's code beside ours where its compiler made some."""
    argv = ["--nonce", seen.nonce, "--code", bench.probe()]
    gpu = seen.choice.gpu
    if gpu and gpu.uuid and gpu.uuid.startswith("GPU-"):
        argv += ["--uuid", gpu.uuid]
    if folder := facts.packages(seen.step("packages")).cublas:
        argv += ["--library", folder]
    image = ["--image", bench.out(_FILE), "--run", seen.nonce]
    probe, every = bench.probe("probe"), [(part, argv) for part in PARTS]
    every += [(_OWN, [*argv, *image])] if own else []
    return tuple(
        Step(f"fast.{part}", (probe, "fast", part, *words), _NO_JIT, _SECONDS)
        for part, words in every
    )
