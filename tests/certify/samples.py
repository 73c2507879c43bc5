"""Observations that are made, for the judge: literal text as the probes print it.

The lines are of the form that the runners in `kernels/runner` print; paths and versions are those
of a CUDA 13.0 prefix on Debian 12, the device's facts those of the notes on one H200. Nothing here
is a measurement.
"""

from envbuild.certify.seen import Ceiling, Choice, Code, Ran, Seen, Session, Terms
from envbuild.values.certificate import Subject
from envbuild.values.codec import Pairs, replace
from envbuild.values.host import EngineFacts, Gpu
from envbuild.values.image import Image
from envbuild.values.plan import MatrixId

NONCE = "0123456789abcdef"
COUNT = (1 << 24) + 3
PROBES = "/envbuild/probes"


def load_line(name: str, path: str = "", error: str = "", version: int = 0) -> str:
    return (
        f'{{"event":"load","name":"{name}","path":"{path}","error":"{error}",'
        f'"signal":0,"version":{version}}}'
    )


def missing_line(name: str) -> str:
    error = f"{name}: cannot open shared object file: No such file or directory"
    return load_line(name, error=error)


DRIVER = ("libcuda.so.1", "libnvidia-ml.so.1", "libnvidia-ptxjitcompiler.so.1")
CUDART = "/usr/local/cuda/lib64/libcudart.so.13"
LOADS = "\n".join(
    [
        *(missing_line(name) for name in DRIVER),
        load_line("libcudart.so.13", CUDART, version=13000),
        missing_line("libcudart.so.12"),
    ]
)
PLANTED = "\n".join(load_line(name, f"{PROBES}/planted/{name}") for name in DRIVER)
PAIR = "typedef int x;\nenvbuild_pair host gcc 12 2 cuda 13 0 88 end\n"
ERROR = (
    "/usr/local/cuda/include/crt/host_config.h:143:2: error: #error -- unsupported GNU version! "
    "gcc versions later than 15 are not supported!"
)
BROKEN = 'add.cu(14): error: identifier "no_such_function" is undefined'

LOOK = (
    Ran(step="which", rc=0, out="nvcc /usr/local/cuda/bin/nvcc\ngcc /usr/bin/gcc\n"),
    Ran(step="os", rc=0, out='ID=debian\nVERSION_ID="12"\n'),
    Ran(step="loads", rc=0, out=LOADS),
    Ran(step="cut libcudart.so.13", rc=0, out='{"event":"cut","path":"/x","bytes":1}'),
    Ran(
        step="loads-cut",
        rc=0,
        out=load_line("libcudart.so.13", error="loading it ended the process"),
    ),
    Ran(step="planted", rc=0, out=PLANTED),
    Ran(step="ldconfig", rc=0, out="\tlibc.so.6 (libc6,x86-64) => /lib/libc.so.6\n"),
    Ran(step="pair", rc=0, out=PAIR),
    Ran(step="pair-anyway", rc=0, out=PAIR),
    Ran(step="packages", rc=127, err="python3 cannot be started"),
)
COMPILE = (
    Ran(step="compile", rc=0),
    Ran(step="broken", rc=1, err=BROKEN),
    Ran(step="other", rc=0),
    Ran(step="object", rc=0),
    Ran(step="link", rc=0),
    Ran(step="program", rc=0, out="envbuild_program runtime 13000 end\n"),
    Ran(step="link-shared", rc=0),
    Ran(step="program-shared", rc=0, out="envbuild_program runtime 13000 end\n"),
    Ran(step="ceiling gcc told to be 16", rc=1, err=ERROR),
)
_DRIVER_LINE = (
    '{"event":"driver","path":"/usr/lib/libcuda.so.580.159.04","module":"NVRM 580.159.04",'
    '"cuda":13000,"code":0}'
)
_DEVICE_LINE = (
    '{"event":"device","name":"NVIDIA H200","uuid":"GPU-1","bus":"0000:01:00.0","major":9,'
    '"minor":0,"sms":132,"bytes":150754820096,"count":1}'
)
SMOKE_LINES = (
    f'{{"event":"start","nonce":"{NONCE}","count":{COUNT}}}',
    _DRIVER_LINE,
    _DEVICE_LINE,
    '{"event":"other","cc":"6","answer":209}',
    '{"event":"memory","available":150000000000,"total":150754820096,"need":201326628}',
    '{"event":"launched","ms":1.0}',
    f'{{"event":"sums","compared":{COUNT},"wrong":0,"first":0}}',
    f'{{"event":"changed","compared":{COUNT},"wrong":1,"first":8388609}}',
    f'{{"event":"skipped","compared":{COUNT},"wrong":{COUNT},"first":0}}',
    '{"event":"bad-launch","answer":1}',
    f'{{"event":"end","nonce":"{NONCE}","calls":35,"bad":0}}',
)
WORK = (
    Ran(
        step="driver-planted",
        rc=0,
        out=f'{{"event":"driver","path":"{PROBES}/planted/libcuda.so.1","error":"a function is '
        'missing","missing":"cuLaunchKernel"}',
    ),
    Ran(step="smoke", rc=0, out="\n".join(SMOKE_LINES)),
)


def seen(*asked: str) -> Seen:
    """A devel image that promises sm_90 and keeps it, on one GPU."""
    digest = "sha256:" + "a" * 64
    return Seen(
        image=Image(ref="made/image:1", config=digest, platform="linux/amd64"),
        subject=Subject(kind="config", name="made/image:1", digest=digest),
        terms=Terms(
            cc=("9.0",),
            promise=("90",),
            gencode=("arch=compute_90,code=[sm_90,compute_90]",),
            cuda="13.0",
            origin="labels",
        ),
        engine=EngineFacts(name="docker", version="20.10", answers=True, access=("cdi",)),
        choice=Choice(gpu=Gpu(name="NVIDIA H200", uuid="GPU-1", cc="9.0"), access="cdi"),
        asked=asked or ("toolchain", "smoke"),
        nonce=NONCE,
        count=COUNT,
        probes_at=PROBES,
        scratch_at="/envbuild/scratch",
        sessions=(
            Session(name="look", rc=0, seconds=1.0, steps=LOOK),
            Session(name="compile", rc=0, seconds=4.0, steps=COMPILE),
            Session(name="work", rc=0, seconds=2.0, steps=WORK),
        ),
        codes=(
            Code(name="prebuilt", sha256="0", targets=("61", "90")),
            Code(name="prebuilt-other", sha256="1", targets=("61",)),
            Code(name="image", sha256="2", targets=("90",)),
            Code(name="other", sha256="3", targets=("75",)),
        ),
        ceiling=Ceiling(cuda="13.0", gcc=15, clang=20, source="toolkits/13.0 measured"),
        driver="580.159.04",
        started="2026-12-01T00:00:00Z",
        finished="2026-12-01T00:00:09Z",
        tool="envbuild 0",
        matrix=MatrixId(date="2026-12-01", digest="sha256:0"),
    )


def without(now: Seen, *names: str) -> Seen:
    """The same without these steps."""
    return replace(
        now,
        sessions=tuple(
            replace(s, steps=tuple(ran for ran in s.steps if ran.step not in names))
            for s in now.sessions
        ),
    )


def changed(now: Seen, name: str, **fields: object) -> Seen:
    """The same with one step changed; a step that was not there joins the last session."""
    if now.step(name) is None:
        last = now.sessions[-1]
        new = Ran(step=name, **fields)  # type: ignore[arg-type]
        return replace(now, sessions=(*now.sessions[:-1], replace(last, steps=(*last.steps, new))))
    return replace(
        now,
        sessions=tuple(
            replace(
                s,
                steps=tuple(replace(r, **fields) if r.step == name else r for r in s.steps),
            )
            for s in now.sessions
        ),
    )


def smoke(now: Seen, *edits: tuple[str, str], step: str = "smoke") -> Seen:
    """The same with texts of the probe's answer replaced (all must be there)."""
    ran = now.step(step)
    assert ran is not None
    text = ran.out
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    return changed(now, step, out=text)


def runtime(now: Seen) -> Seen:
    """The same as a runtime stage: no compiler, prebuilt code."""
    now = changed(now, "which", out="sh /bin/sh\n")
    now = changed(now, "pair", rc=127, out="", err="nvcc cannot be started")
    now = changed(now, "pair-anyway", rc=127, out="")
    return replace(
        now,
        terms=replace(now.terms, stage="runtime"),
        sessions=tuple(s for s in now.sessions if s.name != "compile"),
        codes=tuple(c for c in now.codes if c.name.startswith("prebuilt")),
    )


LOCKED = Pairs({"nvidia-cuda-nvcc": "13.0.88"})
