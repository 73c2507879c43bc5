"""Code for the wrong card: driver, toolkit and framework runtime, targets, PTX."""

import re
from collections.abc import Iterator

from envbuild.advice import stack
from envbuild.advice.change import Wanted, driver_steps, torch_steps
from envbuild.advice.rows import cited, where
from envbuild.advice.rules import Advice, Rule, advice
from envbuild.advice.scene import Scene, table
from envbuild.matrix.load import load
from envbuild.planner.ranges import numbers
from envbuild.planner.table import cite
from envbuild.values.diagnosis import Seen
from envbuild.values.finding import Step

_NO_CODE = ("torch-too-old-gpu", "torch-not-compatible", "cuda-209", "cuda-98")
_DISTRIBUTION = ("/usr/lib/nvidia-cuda-toolkit", "/usr/lib/cuda")
_TOO_OLD = ("torch-driver-too-old", "cuda-35")


def three_versions(scene: Scene) -> Iterator[Advice]:
    """What people take for one "CUDA version" are three; a driver's may be above the others."""
    toolkit, runtime, level = stack.toolkit(scene), stack.runtime(scene), scene.driver_cuda
    if not (scene.host.gpus or toolkit or runtime):
        return
    driver = scene.host.driver.version if scene.host.driver else None
    serves = f", which serves up to CUDA {level}" if level else ""
    none = "version not read" if scene.host.driver or scene.driver_works else "none"
    parts = (
        *(() if scene.host.gpus else ("no NVIDIA GPU is seen here",)),
        f"driver: {driver or none}{serves}",
        f"toolkit: {stack.named(toolkit)}" if toolkit else "toolkit: none (nvcc not found)",
        f"framework runtime: {runtime}" if runtime else "framework runtime: not looked at",
    )
    row = next(row for row in load().situations if row.what == "smi-cuda")
    why = f"Three different things: {row.says}. A figure above the others is harmless. "
    if toolkit is None:
        why += "A toolkit is needed to compile alone: frameworks run without nvcc."
    yield advice(
        "cuda-versions", "info", " · ".join(parts), why=why.strip(), source=cite(row, row.what)
    )


def driver_below(scene: Scene) -> Iterator[Advice]:
    """A framework of a CUDA major that the driver in hand does not serve."""
    seen = scene.saw(*_TOO_OLD)
    runtime, level = stack.runtime_cuda(scene), scene.driver_cuda
    if seen is None and (runtime is None or level is None or not _major_above(runtime, level)):
        return
    if seen is not None and level is not None and _served(seen, level):
        yield _stands_elsewhere(seen, level)
        return
    driver = scene.host.driver.version if scene.host.driver else None
    needs = f"CUDA {runtime}" if runtime else "this program's CUDA"
    says = f"driver {driver or 'not known'} is too old for {needs}"
    if level:
        says += f": it serves up to CUDA {level}"
    torch = stack.torch_release(scene) or (seen is not None and seen.id == "torch-driver-too-old")
    wanted = Wanted(
        scene=scene, cc=_cc(scene), framework=bool(torch), version=stack.torch_release(scene)
    )
    yield advice(
        "driver-too-old",
        "error",
        says,
        why="A new major release of CUDA needs a new driver; within one major, older drivers do. "
        + (where(seen) if seen else ""),
        steps=(*torch_steps(wanted), *driver_steps(wanted)),
        source=cited(seen.id) if seen else _floor(runtime),
        explains=_TOO_OLD,
    )


def _floor(runtime: str | None) -> str:
    """The row of the lowest driver for a CUDA major."""
    from envbuild.planner.drivers import floor

    row = floor(table(), runtime) if runtime else None
    return cite(row, str(row.major)) if row is not None else cited("cuda-35")


def _stands_elsewhere(seen: Seen, level: str) -> Advice:
    """The machine's driver is new enough: the program met another libcuda."""
    step = Step(
        why="which libcuda.so.1 the program gets: that of a stubs or compat folder, or of an image",
        text="where the program runs: ldconfig -p | grep libcuda, and env | grep LD_LIBRARY_PATH",
        check="libcuda.so.1 is the driver's own, and no stubs folder stands before it",
    )
    return advice(
        "other-libcuda",
        "error",
        f"the program saw an older driver than this machine's, which serves CUDA {level}",
        why=f"It runs elsewhere, or loads another libcuda than the driver's. {where(seen)}",
        steps=(step,),
        source=cited(seen.id),
        explains=_TOO_OLD,
    )


def _served(seen: Seen, level: str) -> bool:
    """The log names a level, as 12080, that is below that of the machine's driver."""
    found = seen.words.get("level") or ""
    if not re.fullmatch(r"\d{4,5}", found):
        return False
    return (int(found) // 1000, int(found) % 1000 // 10) < numbers(level)[:2]


def no_code(scene: Scene) -> Iterator[Advice]:
    """A program or framework without code for the card."""
    seen = scene.saw(*_NO_CODE)
    lacking = _lacking(scene)
    if seen is None and lacking is None:
        return
    cc = _cc(scene)
    version = stack.torch_release(scene)
    torch = version is not None or scene.saw(*_NO_CODE[:2]) is not None or scene.saw("torch")
    wanted = Wanted(scene=scene, cc=cc, framework=bool(torch), version=version)
    about = f" ({_arch(scene, cc)})" if cc else ""
    what = f"torch {version}" if version else "the program"
    built = f": it is built for {', '.join(lacking)}" if lacking else ""
    plan = wanted.plan()
    steps = list(torch_steps(wanted))
    if plan is not None and plan.flags.nvcc and not version:
        steps.append(
            Step(
                why=f"code of one's own: compile it for this card, with CUDA {plan.cuda}",
                text=f"nvcc {plan.flags.nvcc}; CMAKE_CUDA_ARCHITECTURES={plan.flags.cmake}; "
                f"TORCH_CUDA_ARCH_LIST={plan.flags.torch}",
                check="cuobjdump --list-elf PROGRAM names the card's target",
            )
        )
    if not steps:
        return
    yield advice(
        "no-code-for-card",
        "error",
        f"{what} has no code for this card{about}{built}",
        why="That is a matter of how it was built (its CUDA variant), seldom of its version, and "
        "nothing that a driver changes. " + (where(seen) if seen else ""),
        steps=tuple(steps),
        source=cited(seen.id if seen else "cuda-209"),
        explains=_NO_CODE,
    )


def _lacking(scene: Scene) -> tuple[str, ...] | None:
    """The targets of the image's torch, where some card of the machine can run none of them."""
    from envbuild.planner.gencode import runs_on

    if scene.image is None or not scene.image.arch_list:
        return None
    targets = [name.partition("_") for name in scene.image.arch_list]
    for _, row in scene.chips:
        real = [target for kind, _, target in targets if kind == "sm"]
        virtual = [target for kind, _, target in targets if kind == "compute"]
        ptx = any(_int(target) <= _int(row.target) for target in virtual)
        if (
            row is not None
            and not ptx
            and not any(runs_on(target, row, table()) for target in real)
        ):
            return scene.image.arch_list
    return None


def _int(target: str) -> int:
    return int(re.sub(r"\D", "", target) or 0)


def ptx_too_new(scene: Scene) -> Iterator[Advice]:
    """PTX of a newer toolkit than the driver compiles."""
    seen = scene.saw("cuda-222", "ptx-version")
    level = scene.driver_cuda
    if seen is None or level is None:
        return
    made = next((t for t in load().toolkits if t.ptx == seen.words.get("version")), None)
    wanted = Wanted(scene=scene, cc=_cc(scene), packages=("numba",))
    plan = wanted.plan()
    steps = []
    if plan is not None and plan.cuda is not None:
        pin = f", {', '.join(plan.packages[:3])}" if plan.packages else ""
        steps.append(
            Step(
                why="what compiles at run time (numba, NVRTC) must not be newer than the driver: "
                f"CUDA {level}",
                text=f"use CUDA {plan.cuda}{pin}",
                check="nvcc --version (or pip list) shows that release or an older one",
            )
        )
    if plan is not None and plan.gencode:
        steps.append(
            Step(
                why="finished code needs no compiler in the driver",
                text=f"or ship it for the card: nvcc {plan.flags.nvcc}",
                check="cuobjdump --list-elf PROGRAM names the card's target",
            )
        )
    steps += driver_steps(wanted, cuda=made.cuda if made else None)
    what = f"PTX of CUDA {made.cuda}" if made else "PTX of a newer toolkit"
    yield advice(
        "ptx-too-new",
        "error",
        f"{what} is given to a driver that compiles PTX up to CUDA {level}",
        why="Minor-version compatibility is for finished code (SASS). PTX is compiled by the "
        f"driver, which must be as new as the toolkit that made it. {where(seen)}",
        steps=tuple(steps),
        source=cite(made, made.cuda) if made else cited(seen.id),
        explains=("cuda-222", "ptx-version"),
    )


def unknown_target(scene: Scene) -> Iterator[Advice]:
    """A compiler is asked for a target that it does not have."""
    seen = scene.saw("unsupported-arch")
    said = (seen and seen.words.get("target")) or ""
    found = re.fullmatch(r"(?:sm_|compute_)?(\d{1,2})(\.?)(\d)([af]?)(?:\+PTX)?", said)
    if seen is None or found is None:
        return
    number, suffix = found[1] + found[3], found[4]
    rows = load()
    card = next((c for c in rows.capabilities if number in (c.target, *c.aliases)), None)
    having = [t.cuda for t in rows.toolkits if number + suffix in t.targets]
    having.sort(key=numbers)
    # torch's own list of architectures is written with a dot.
    listed = found[2] == "."
    triton = scene.saw("triton") is not None and not listed
    target = f"sm_{number}{suffix}"
    if not having or card is None:
        yield advice(
            "unknown-target", "error", f"no toolkit that is known here has the target {target}",
            why=f"It is mistyped, or newer than these matrices. {where(seen)}",
            steps=(Step(why="the targets of this machine's card", argv=("envbuild", "plan"),
                        check="the line flags"),),
            source=cited(seen.id), explains=("unsupported-arch",),
        )  # fmt: skip
        return
    span = having[0] if len(having) == 1 else f"{having[0]} to {having[-1]}"
    wanted = Wanted(scene=scene, cc=card.cc, framework=triton or listed)
    steps = list(torch_steps(wanted)) or [_toolkit_step(scene, card.cc, having[-1])]
    if triton:
        steps.append(
            Step(
                why="Triton has a ptxas of its own, which ends earlier than the toolkit's",
                text="or name a newer one: export TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas, of "
                f"CUDA {having[0]} or newer",
                check=f"/usr/local/cuda/bin/ptxas --help lists {target}",
            )
        )
    elif not listed:
        steps.append(
            Step(
                why="one list for all toolkits holds what some of them do not have",
                text="or make the list for the toolkit: envbuild plan --cc all --cuda X.Y",
                check="the compiler takes each of them",
            )
        )
    distro = None if triton or listed else _of_distribution(scene)
    if distro:
        steps.insert(0, _instead(scene))
    whose = "Triton's own ptxas" if triton else "this torch" if listed else "this toolkit"
    named = f"{target} ({card.arch}, cc {card.cc})"
    yield advice(
        "unknown-target",
        "error",
        f"{distro or whose} does not know {named}; it is in CUDA {span}",
        why=f"Each toolkit has a first and a last target. {where(seen)}",
        steps=tuple(steps),
        source=cite(card, card.cc),
        explains=("unsupported-arch",),
    )


def _of_distribution(scene: Scene) -> str | None:
    """The distribution's own nvcc, where it is the one that answers: it is older than most cards.

    A log may be of another machine, so what it shows goes before what is here.
    """
    tool = stack.toolkit(scene)
    path = (tool.path if tool is not None else None) or ""
    here = path == "/usr/bin/nvcc" or path.startswith(_DISTRIBUTION)
    if scene.saw("distro-nvcc") is None and not here:
        return None
    version = f" (CUDA {tool.version})" if here and tool is not None and tool.version else ""
    return f"the distribution's own nvcc{version}, of its package nvidia-cuda-toolkit,"


def _instead(scene: Scene) -> Step:
    """Another toolkit that is here, else the vendor's."""
    others = [t.path for t in scene.host.toolkits if (t.path or "").startswith("/usr/local/cuda")]
    if others:
        return Step(
            why="the vendor's toolkit is here, and stands behind the distribution's on PATH",
            text=f"export CUDA_HOME={others[0]} PATH={others[0]}/bin:$PATH",
            check="nvcc --version shows its release; build in a new folder",
        )
    return Step(
        why="the vendor's toolkit beside it, and first on PATH: /usr/bin/nvcc stays the old one",
        argv=("envbuild", "setup", "wsl2" if scene.wsl2 else "auto"),
        check="command -v nvcc: not /usr/bin/nvcc",
    )


def _toolkit_step(scene: Scene, cc: str, last: str) -> Step:
    plan = Wanted(scene=scene, cc=cc).plan()
    cuda = plan.cuda if plan is not None and plan.cuda else last
    ref = plan.image.ref if plan is not None else None
    argv = ("envbuild", "plan", "--cc", cc)
    why = f"CUDA {cuda} compiles for cc {cc}" + (f", for example in {ref}" if ref else "")
    return Step(why=why, argv=argv, check="its line flags names the target")


def _major_above(runtime: str, level: str) -> bool:
    return numbers(runtime)[0] > numbers(level)[0]


def _cc(scene: Scene) -> str | None:
    """The capability that a log names, else that of the machine's first card."""
    known = {row.cc for row in load().capabilities}
    targets = {row.target: row.cc for row in load().capabilities}
    named = scene.word("cc")
    seen = scene.saw("torch-not-compatible")
    target = ((seen and seen.words.get("target")) or "").removeprefix("sm_")
    for cc in (named, targets.get(target), *(row.cc for _, row in scene.chips)):
        if cc in known:
            return cc
    return None


def _arch(scene: Scene, cc: str) -> str:
    row = scene.capability(cc)
    return f"{row.arch}, cc {cc}" if row else f"cc {cc}"


RULES: tuple[Rule, ...] = (three_versions, driver_below, no_code, ptx_too_new, unknown_target)
