"""What suite `correct` runs inside the image: its compiler on our sources, then the kernels."""

from envbuild.certify import facts
from envbuild.certify.seen import Seen
from envbuild.certify.steps import Bench, Step
from envbuild.certify.suites.correct.formats import FORMATS, Format, lacking, target

# Code compiled at load time would hide that there is none for this device.
_NO_JIT = ("CUDA_DISABLE_PTX_JIT=1",)


def asked(seen: Seen) -> tuple[Format, ...]:
    """The formats that the GPU has, and that the image's compiler, where it has one, knows."""
    return tuple(f for f in FORMATS if not lacking(seen, f) and not too_old(seen, f))


def too_old(seen: Seen, form: Format) -> str:
    """Why the compiler inside cannot know a format; empty where it can, or there is none."""
    release = facts.toolkit(seen) if facts.compiler(seen) else None
    if not form.cuda or not release or _release(release) >= _release(form.cuda):
        return ""
    return f"the image's CUDA {release} cannot write it: {form.cuda} is the first that can"


def compiled(seen: Seen, file: str) -> bool:
    """The image's own compiler made this file of device code."""
    ran = seen.step(f"correct.compile.{file}")
    return ran is not None and ran.ok


def origin(seen: Seen) -> str:
    """Whose code is judged: ``image``, or ``prebuilt`` where nothing can be compiled inside."""
    return "image" if facts.compiler(seen) else "prebuilt"


def compiling(bench: Bench, seen: Seen) -> tuple[Step, ...]:
    """The image's compiler on each source that is asked for, for the target of this GPU."""
    names = dict.fromkeys(form.file for form in asked(seen))
    return tuple(_compile(bench, seen, file) for file in names)


def _compile(bench: Bench, seen: Seen, file: str) -> Step:
    name = target(seen)
    # These instructions are of one architecture: its own code only.
    name = f"{name.rstrip('af')}a" if file == "tensor4" else name
    source, out = bench.probe(f"{file}.cu"), bench.out(f"{file}.image")
    named = f"-DENVBUILD_RUN={seen.nonce}"
    if facts.compiler(seen) == "nvcc":
        compiler = ["nvcc", "-fatbin", "-gencode", f"arch=compute_{name},code=sm_{name}"]
    else:
        compiler = ["nvrtc", f"-arch=sm_{name}", f"-I{bench.probe()}"]
    argv = (*compiler, named, "-o", out, source)
    return Step(f"correct.compile.{file}", argv, (f"TMPDIR={bench.out()}",), 300.0)


def running(bench: Bench, seen: Seen, step: str, *, prebuilt: bool) -> Step:
    """All kernels in one process: products in each format, atomics, launches."""
    argv = [bench.probe("probe"), "correct", *_common(seen, prebuilt=prebuilt)]
    loaded = ""
    for form in asked(seen):
        if not prebuilt and not compiled(seen, form.file):
            continue
        if form.file != loaded:
            argv += ["--code", _code(bench, form.file, prebuilt=prebuilt)]
            # What needs no number format is in the first file.
            argv += ["--atomics", "--launches"] if not loaded else []
            loaded = form.file
        argv += ["--number", form.name, form.operands, form.sums]
        argv += [str(form.rounding), str(form.summing)]
    return Step(step, tuple(argv), _NO_JIT)


def faulting(bench: Bench, seen: Seen) -> tuple[Step, Step]:
    """A store to address 0, then good launches in another process; the prebuilt code does both."""
    common, code = _common(seen, prebuilt=True), _code(bench, "correct", prebuilt=True)
    probe = bench.probe("probe")
    return (
        Step("correct.fault", (probe, "fault", *common, "--code", code), _NO_JIT),
        Step("correct.after", (probe, "correct", *common, "--code", code, "--launches"), _NO_JIT),
    )


def _common(seen: Seen, *, prebuilt: bool) -> list[str]:
    words = ["--nonce", seen.nonce]
    gpu = seen.choice.gpu
    if gpu and gpu.uuid and gpu.uuid.startswith("GPU-"):
        words += ["--uuid", gpu.uuid]
    return words if prebuilt else [*words, "--run", seen.nonce]


def _code(bench: Bench, file: str, *, prebuilt: bool) -> str:
    return bench.probe(f"{file}.fatbin") if prebuilt else bench.out(f"{file}.image")


def _release(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2])
