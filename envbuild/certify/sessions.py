"""What is run inside an image, as lists of steps; the suites judge what they give."""

from envbuild.certify.probes import DRIVER_LIBRARIES, OTHERS
from envbuild.certify.seen import Ceiling, Terms
from envbuild.certify.steps import Bench, Step
from envbuild.values.host import Gpu

# One beyond what 25 % of a 1 GB card holds would be rude; 3 arrays of this are 192 MiB.
COUNT = (1 << 24) + 3
RUNTIMES = ("libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so.10.2")
NVRTCS = ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2")
_SBIN = "+PATH=/usr/sbin:/sbin"
# Debugger, profilers, sanitizer: where a toolkit puts them if they are not on the PATH.
TOOLS = ("compute-sanitizer", "cuda-gdb", "nsys", "ncu")
_TOOLKIT = "PATH=/usr/local/cuda/bin:/usr/local/cuda/compute-sanitizer"
_PROGRAMS = ("nvcc", "nvrtc", "cuobjdump", "gcc", "g++", "clang", "python3", "sh", "dpkg-query")


def kernel_of(nonce: str) -> str:
    """Name of the kernel that the image's compiler makes in this run, and in no other."""
    return f"envbuild_add_{nonce}"


def look(bench: Bench, *, locked: bool) -> list[Step]:
    """What the image is: programs, libraries, the compiler pair. No GPU, nothing compiled."""
    planted = bench.probe("planted")
    cut = bench.out("cut")
    names = (*RUNTIMES, *NVRTCS)
    probe = bench.probe("probe")
    pair = ("-E", bench.probe("pair.cu"))
    newer = tuple(f"{name}-{n}" for n in range(7, 21) for name in ("g++",))
    steps = [
        Step("which", ("@which", *_PROGRAMS, *newer, *TOOLS)),
        Step("which-toolkit", ("@which", *TOOLS), (_TOOLKIT,)),
        Step("os", ("@read", "/etc/os-release")),
        Step("preload", ("@read", "/etc/ld.so.preload")),
        Step("loads", (probe, "loads", *DRIVER_LIBRARIES, *names)),
        *(Step(f"cut {name}", (probe, "cut", name, cut)) for name in names),
        Step("loads-cut", (probe, "loads", *names), (f"+LD_LIBRARY_PATH={cut}",)),
        Step(
            "planted",
            (probe, "loads", *DRIVER_LIBRARIES),
            (f"+LD_LIBRARY_PATH={planted}",),
        ),
        Step("ldconfig", ("ldconfig", "-p"), (_SBIN,)),
        Step("pair", ("nvcc", *pair)),
        Step("pair-anyway", ("nvcc", "-allow-unsupported-compiler", *pair)),
        Step("targets", ("nvcc", "--list-gpu-code")),
        Step("packages", ("python3", bench.probe("packages.py"))),
    ]
    if locked:
        steps.append(Step("dpkg", ("dpkg-query", "-W", "-f", "${Package}=${Version}\\n")))
    return steps


def look_again(bench: Bench, paths: tuple[str, ...]) -> list[Step]:
    """Whether libraries that the loader did not find by name are there by path."""
    return [Step("loads-cached", (bench.probe("probe"), "loads", *paths))] if paths else []


def other_target(promise: tuple[str, ...], targets: tuple[str, ...]) -> str:
    """A target that the code of the wrong-cc control is built for: a plain one, not promised.

    With every target promised it is the first: the control then lacks all the others.
    """
    plain = [target for target in targets if target.isdigit() and target not in promise]
    majors = {target.rstrip("af")[:-1] for target in promise}
    apart = [target for target in plain if target[:-1] not in majors]
    return (*apart, *plain, *promise)[0]


def above_ceiling(
    bench: Bench, ceiling: Ceiling | None, host: str, programs: dict[str, str]
) -> list[Step]:
    """Compilers that the toolkit's header must refuse: real ones, and the own one in disguise."""
    limit = (ceiling.clang if host == "clang" else ceiling.gcc) if ceiling else None
    if limit is None:
        return []
    pair, env = bench.probe("pair.cu"), (f"TMPDIR={bench.out()}",)
    newer = sorted(
        (int(name[4:]), name)
        for name in programs
        if host == "gcc" and name.startswith("g++-") and int(name[4:]) > limit
    )
    macro, told = ("__clang_major__" if host == "clang" else "__GNUC__"), limit + 1
    disguise = ("-Xcompiler", "-w", f"-U{macro}", f"-D{macro}={told}")
    return [
        *(
            Step(f"ceiling {name} of the image", ("nvcc", "-E", "-ccbin", name, pair), env)
            for _, name in newer
        ),
        Step(f"ceiling {host} told to be {told}", ("nvcc", "-E", *disguise, pair), env),
    ]


def compile_nvcc(
    bench: Bench, terms: Terms, other: str, above: list[Step], nonce: str, *, cuobjdump: bool
) -> list[Step]:
    """The image's nvcc at work: the probe, its controls, and a whole program, linked twice."""
    add, program, out = bench.probe("add.cu"), bench.probe("program.cu"), bench.out
    env = (f"TMPDIR={bench.out()}",)
    wanted = [word for code in terms.gencode for word in ("-gencode", code)]
    first = wanted[:2]
    # Not compressed, so that the kernel's name can be read in it.
    named = ("-no-compress", f"-DENVBUILD_ADD={kernel_of(nonce)}")
    made = (*wanted, *named, "-o", out("image.fatbin"), add)

    def nvcc(name: str, *argv: str, seconds: float = 120.0) -> Step:
        return Step(name, ("nvcc", *argv), env, seconds)

    steps = [
        nvcc("compile", "-fatbin", *made, seconds=300.0),
        nvcc("broken", "-fatbin", *first, "-DENVBUILD_BROKEN", "-o", out("broken.fatbin"), add),
        nvcc(
            "other",
            "-fatbin",
            "-gencode",
            f"arch=compute_{other},code=sm_{other}",
            "-o",
            out("other.fatbin"),
            add,
        ),
        nvcc("object", "-c", *first, "-o", out("program.o"), program),
        nvcc("link", *first, "-o", out("program"), out("program.o")),
        Step("program", (out("program"),)),
        nvcc(
            "link-shared",
            *first,
            "--cudart=shared",
            "-o",
            out("program-shared"),
            out("program.o"),
        ),
        Step("program-shared", (out("program-shared"),)),
    ]
    steps += above
    if cuobjdump:
        steps += [
            Step("cuobjdump", ("cuobjdump", "--list-elf", out("image.fatbin"))),
            Step("cuobjdump-other", ("cuobjdump", "--list-elf", out("other.fatbin"))),
        ]
    return steps


def compile_nvrtc(bench: Bench, terms: Terms, other: str, nonce: str) -> list[Step]:
    """A prefix without nvcc: device code only, one file a target."""
    add, include = bench.probe("add.cu"), f"-I{bench.probe()}"

    def nvrtc(name: str, target: str, file: str, *flags: str) -> Step:
        argv = ("nvrtc", f"-arch=sm_{target}", include, *flags, "-o", bench.out(file), add)
        return Step(name, argv)

    named = f"-DENVBUILD_ADD={kernel_of(nonce)}"
    first, *rest = terms.promise
    return [
        nvrtc("compile", first, f"image.{first}.cubin", named),
        *(nvrtc(f"compile {t}", t, f"image.{t}.cubin", named) for t in rest),
        nvrtc("broken", first, "broken.cubin", "-DENVBUILD_BROKEN"),
        nvrtc("other", other, "other.fatbin"),
    ]


def work(bench: Bench, nonce: str, code: str | None, gpu: Gpu | None) -> list[Step]:
    """The GPU at work: who the driver is, with a planted one in front, then the kernel.

    Args:
        bench: where.
        nonce: what the probe repeats, so that no canned answer passes.
        code: file in the scratch folder that the image compiled; None = prebuilt code.
        gpu: the device to use, None = the first.
    """
    planted = Step(
        "driver-planted",
        (bench.probe("probe"), "driver"),
        (f"+LD_LIBRARY_PATH={bench.probe('planted')}",),
    )
    return [planted, _smoke(bench, "smoke", nonce, code, gpu)]


def reference(bench: Bench, nonce: str, gpu: Gpu | None) -> list[Step]:
    """The prebuilt code on the same GPU, in a process of its own: whose fault is it?"""
    return [_smoke(bench, "reference", nonce, None, gpu)]


def on_device(bench: Bench, name: str, nonce: str) -> Step:
    """The prebuilt code on the one device that came in, whichever it is."""
    return _smoke(bench, name, nonce, None, None)


def _smoke(bench: Bench, name: str, nonce: str, code: str | None, gpu: Gpu | None) -> Step:
    argv = [bench.probe("probe"), "smoke", "--nonce", nonce, "--count", str(COUNT)]
    argv += ["--code", bench.out(code) if code else bench.probe("add.fatbin")]
    argv += ["--kernel", kernel_of(nonce)] if code else []
    for target in OTHERS:
        argv += ["--other", target[:-1], bench.probe(f"other.{target}.cubin")]
    if gpu and gpu.uuid and gpu.uuid.startswith("GPU-"):
        argv += ["--uuid", gpu.uuid]
    # Code compiled at load time would hide that the image has none for this device.
    return Step(name, tuple(argv), ("CUDA_DISABLE_PTX_JIT=1",), 60.0)
