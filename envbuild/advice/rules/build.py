"""What stops a compiler: its own version, the C library, a toolkit that is not found."""

import re
from collections.abc import Iterator

from envbuild.advice import stack
from envbuild.advice.change import Wanted
from envbuild.advice.fixes import compilers
from envbuild.advice.rows import cited, where
from envbuild.advice.rules import Advice, Rule, advice
from envbuild.advice.scene import Scene, is_version
from envbuild.matrix.load import load
from envbuild.matrix.model import GlibcClash
from envbuild.planner.ranges import numbers
from envbuild.planner.table import cite
from envbuild.values.finding import Step
from envbuild.values.plan import Plan

_TOOLKIT = re.compile(r"(?:/[\w.+-]+){1,8}")
_NOT_FOUND = ("nvcc-missing", "cuda-home-missing", "libnvvm")


def glibc_clash(scene: Scene) -> Iterator[Advice]:
    """Headers of the toolkit and of the C library clash; no other gcc helps."""
    seen = scene.saw("glibc-cuda-header-clash")
    row = _clash(scene)
    if seen is None and row is None:
        return
    symbol = (seen and seen.words.get("function")) or (row.symbol if row else "")
    glibc, here = scene.host.os.glibc, stack.toolkit(scene)
    of = f" of CUDA {here.version}" if here and here.version else ""
    says = f"the headers{of} and of glibc {glibc or '(newer than they know)'} both declare {symbol}"
    first = f"CUDA {row.cuda_below} is the first that knows it; " if row else ""
    yield advice(
        "glibc-cuda-header-clash",
        "error" if seen else "warn",
        says,
        why=f"{first}it is the C library's own header, so another gcc changes nothing. "
        + (where(seen) if seen else "Nothing was compiled yet."),
        steps=_other_toolkit(scene),
        source=cite(row, f"{row.glibc_from}-{row.cuda_below}")
        if row
        else cited("glibc-cuda-header-clash"),
        explains=("unsupported-gnu",),
    )


def _clash(scene: Scene) -> GlibcClash | None:
    """The row of the machine's C library and the toolkit that builds here use."""
    glibc, here = scene.host.os.glibc, stack.toolkit(scene)
    if glibc is None or here is None or not here.version or scene.image is not None:
        return None
    if not (is_version(glibc) and is_version(here.version)):
        return None
    for row in load().glibc_clashes:
        older = numbers(here.version) < numbers(row.cuda_below)
        if older and numbers(glibc) >= numbers(row.glibc_from):
            return row
    return None


def _other_toolkit(scene: Scene) -> tuple[Step, ...]:
    """What compiles here: a toolkit for this system where the card has one, and a container."""
    steps = []
    plan = Wanted(scene=scene).plan(where="host")
    if plan is not None and plan.cuda is not None:
        steps.append(
            Step(
                why="its headers know this C library, and it compiles for the card",
                text=f"install CUDA {plan.cuda} beside the other: envbuild plan --where host "
                "shows how",
                check="nvcc --version shows it, and the file compiles",
            )
        )
    return (*steps, *_in_container(scene))


def _in_container(scene: Scene) -> Iterator[Step]:
    """An image in which toolkit, compiler, C library and the framework in hand fit."""
    release = stack.torch_release(scene)
    wishes = ("--torch", release, "--feature", "extension") if release else ()
    changes = {"features": ("extension",)} if release else {}
    plan = Wanted(scene=scene).plan(*((f"torch=={release}",) if release else ()), **changes)
    if plan is None:
        return
    base = plan.image.os or plan.image.ref or "a system with an older C library"
    yield Step(
        why=f"in a container, on {base} with CUDA {plan.cuda}, all of them fit",
        argv=("envbuild", "up", *wishes),
        check="the build ends in that container",
    )


def compiler_too_new(scene: Scene) -> Iterator[Advice]:
    """The host compiler is above the ceiling of the toolkit."""
    seen = scene.saw("unsupported-gnu")
    if seen is None:
        return
    most = seen.words.get("gcc") or ""
    os = next((row for row in load().oses if row.id == scene.host.os.id), None)
    plan = Wanted(scene=scene).plan(where="host")
    known = _clash(scene) is None
    major = compilers.fitting(os, int(most)) if os and most.isdigit() and known else None
    steps = list(compilers.steps(os, major)) if os is not None and major is not None else []
    if major is not None:
        steps.append(
            Step(
                why="nvcc takes the compiler that it is told, whatever the system's default is",
                text=f"export NVCC_CCBIN=/usr/bin/g++-{major} CUDAHOSTCXX=/usr/bin/g++-{major}",
                check="nvcc --version, then the file compiles",
            )
        )
    if plan is not None and most.isdigit() and _takes_newer(plan, int(most)):
        steps.append(_toolkit_for(plan))
    steps += _in_container(scene)
    yield advice(
        "host-compiler-too-new",
        "error",
        f"the host compiler is newer than this toolkit takes: gcc {most} is its last",
        why="Switching that check off compiles with headers that were never tried together. "
        + where(seen),
        steps=tuple(steps),
        source=cited("unsupported-gnu"),
        explains=("unsupported-gnu",),
    )


def _takes_newer(plan: Plan, most: int) -> bool:
    return plan.host_compiler is not None and (plan.host_compiler.max or 0) > most


def _toolkit_for(plan: Plan) -> Step:
    host = plan.host_compiler
    named = f"{host.name} {host.version or ''}".strip() if host else "this system's compiler"
    return Step(
        why=f"CUDA {plan.cuda} takes {named}",
        text=f"or build with CUDA {plan.cuda}: envbuild plan --where host shows how",
        check="nvcc --version shows it",
    )


def cuda_home_invalid(scene: Scene) -> Iterator[Advice]:
    """CUDA_HOME must be one folder that is there; a list, or a program in it, is none."""
    for name in ("CUDA_HOME", "CUDA_PATH"):
        value = scene.variable(name)
        fault = _fault(scene, value) if value is not None else None
        if value is None or fault is None:
            continue
        seen = scene.saw(*_NOT_FOUND)
        right = _right_home(scene, value)
        yield advice(
            "cuda-home-invalid",
            "error" if seen else "warn",
            f"{name} is {value!r}: {fault}",
            why="It must name one folder that holds bin/nvcc and nvvm/lib64. "
            + (where(seen) if seen else ""),
            steps=(
                Step(
                    why="one folder, and that of the toolkit that is to be used",
                    text=f"export {name}={right}",
                    check=f"ls {right}/nvvm/lib64/libnvvm.so {right}/bin/nvcc",
                ),
            ),
            source=cited("libnvvm"),
            explains=_NOT_FOUND,
        )


def _fault(scene: Scene, value: str) -> str | None:
    separator = ";" if scene.host.platform == "windows" else ":"
    if separator in value:
        return "a list, as PATH is one"
    if not value.strip():
        return "empty"
    if value.rstrip("/").endswith(("/bin", "/nvcc", "/lib64")):
        return "a part of a toolkit, not its folder"
    if value.startswith(("~", "$")) or not value.startswith("/"):
        return None if scene.host.platform == "windows" else "no full path"
    known = {tool.path for tool in scene.host.toolkits if tool.path}
    # Only where toolkits were found elsewhere is a folder that is not among them known to be wrong.
    if known and value.rstrip("/") not in known | {"/usr/local/cuda", "/usr"}:
        return None if any(path.startswith(value.rstrip("/")) for path in known) else (
            f"no toolkit is there ({', '.join(sorted(known))})"
        )  # fmt: skip
    return None


def _right_home(scene: Scene, value: str) -> str:
    """The toolkit that the value names among others, else the first that is here."""
    known = [
        tool.path for tool in scene.host.toolkits if tool.path and _TOOLKIT.fullmatch(tool.path)
    ]
    named = [re.sub(r"/(?:bin(?:/nvcc)?|lib64)/?$", "", part) for part in re.split("[:;]", value)]
    return next((path for path in named if path in known), known[0] if known else "/usr/local/cuda")


def nvcc_not_found(scene: Scene) -> Iterator[Advice]:
    """No nvcc on PATH: the toolkit is elsewhere, or there is none."""
    seen = scene.saw("nvcc-missing", "cuda-home-missing")
    if seen is None or scene.saw("image-build") is not None:
        return
    toolkit = next((t for t in scene.host.toolkits if t.path and _TOOLKIT.fullmatch(t.path)), None)
    if toolkit is not None:
        steps: tuple[Step, ...] = (
            Step(
                why="the toolkit is here, and its programs are not on PATH",
                text=f"export CUDA_HOME={toolkit.path} PATH={toolkit.path}/bin:$PATH",
                check="nvcc --version",
            ),
        )
        says = f"nvcc is not on PATH, and CUDA {toolkit.version or ''} is in {toolkit.path}"
    else:
        plan = Wanted(scene=scene).plan(where="host")
        cuda = f"CUDA {plan.cuda}" if plan is not None and plan.cuda else "the toolkit"
        if own := stack.runtime_cuda(scene):
            cuda = f"CUDA {own}, with which the framework was built,"
        kind = "wsl2" if scene.wsl2 else "auto"
        steps = (
            Step(
                why=f"{cuda} is what fits here; not the package nvidia-cuda-toolkit of the "
                "system's archive, which is older and brings a driver",
                argv=("envbuild", "setup", kind),
                check="nvcc --version",
            ),
            *_in_container(scene),
        )
        says = "there is no CUDA toolkit on this system: nvcc is not found"
    yield advice(
        "nvcc-not-found",
        "error",
        says,
        why="The driver and frameworks come without one: nvidia-smi and "
        f"torch.cuda.is_available() work without nvcc; it is needed to compile. {where(seen)}",
        steps=steps,
        source=cited(seen.id),
        explains=("nvcc-missing", "cuda-home-missing"),
    )


def other_toolkit_than_torch(scene: Scene) -> Iterator[Advice]:
    """An extension is compiled with another CUDA than torch's."""
    seen = scene.saw("torch-cuda-mismatch")
    if seen is None:
        return
    release = stack.torch_release(scene)
    wish = f"torch=={release}" if release else "torch"
    plan = Wanted(scene=scene).plan(wish, features=("extension",))
    wanted = stack.runtime_cuda(scene) or (plan.cuda if plan is not None else None)
    if plan is None or wanted is None:
        return
    yield advice(
        "toolkit-is-not-torchs",
        "error",
        f"the toolkit is CUDA {seen.words.get('toolkit')}, torch was built with another major",
        why="An extension must be compiled with the major release that torch was built with. "
        + where(seen),
        steps=(
            Step(
                why="a toolkit of torch's own release beside it; CUDA_HOME names it",
                text=f"install CUDA {wanted} and export CUDA_HOME=/usr/local/cuda-{wanted}",
                check="nvcc --version shows torch.version.cuda",
            ),
            Step(
                why=f"or one image with torch {plan.torch.version if plan.torch else ''} and its "
                f"toolkit, CUDA {plan.cuda}",
                argv=("envbuild", "plan", "--with", wish, "--feature", "extension"),
                check="envbuild certify --require torch builds an extension",
            ),
        ),
        source=cited(seen.id),
        explains=("torch-cuda-mismatch",),
    )


def out_of_memory(scene: Scene) -> Iterator[Advice]:
    """The build took more memory than there is: how many compilers fit."""
    seen, limits = scene.saw("build-out-of-memory"), scene.host.limits
    if seen is None or not limits.memory_mib or limits.memory_mib < 0:
        return
    jobs = max(1, limits.memory_mib // _MIB_PER_JOB)
    yield advice(
        "build-out-of-memory",
        "error",
        f"the compiler was stopped: {limits.memory_mib} MiB of memory were not enough",
        why=f"Each nvcc takes up to 5 GB, and builds start one for each core. {where(seen)}",
        steps=(
            Step(
                why=f"{jobs} compilers at a time fit into this memory",
                text=f"export MAX_JOBS={jobs} CMAKE_BUILD_PARALLEL_LEVEL={jobs}, and build again",
                check="free -m while it builds: memory is left",
            ),
            Step(
                why="each target is compiled apart",
                argv=("envbuild", "plan"),
                check="its line flags: TORCH_CUDA_ARCH_LIST with this card's target alone",
            ),
        ),
        source=cited(seen.id),
        explains=("build-out-of-memory",),
    )


_MIB_PER_JOB = 5 * 1024
"""What one nvcc takes, at most (Dao-AILab/flash-attention#2079)."""


RULES: tuple[Rule, ...] = (
    glibc_clash,
    compiler_too_new,
    cuda_home_invalid,
    nvcc_not_found,
    other_toolkit_than_torch,
    out_of_memory,
)
