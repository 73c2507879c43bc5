"""Three different things: the driver above, a toolkit to compile with, a framework's runtime."""

import re

from envbuild.advice.fixes import compilers, proof
from envbuild.advice.guide import engine
from envbuild.advice.guide.base import Case, line, looked, state
from envbuild.data import folder
from envbuild.matrix.load import load_reference
from envbuild.planner.ranges import minor
from envbuild.values.codec import replace
from envbuild.values.finding import Step
from envbuild.values.guide import GuideFile, Section
from envbuild.values.plan import Plan

_VENV = "envbuild-torch"


def native(case: Case) -> Plan | None:
    """The toolkit for the machine itself, None where none fits."""
    plan = case.native
    return plan if plan.outcome != "refuse" and plan.cuda is not None else None


_TOLD = frozenset({"host-install", "toolkit-here"})
"""Findings that say how the toolkit comes to the machine, or how the one there is used."""


def _nvcc(plan: Plan) -> str | None:
    """Where nvcc lies once the plan's own steps are done; None in a private folder."""
    if plan.toolkit_source == "apt" and plan.layout.archive is not None:
        return f"/usr/local/cuda-{minor(plan.cuda or '')}/bin/nvcc"
    return {"distro": "/usr/bin/nvcc", "apt": "/usr/local/cuda/bin/nvcc"}.get(
        plan.toolkit_source or ""
    )


def toolkit(case: Case) -> Section | None:
    """A toolkit on the machine itself."""
    plan = native(case)
    if plan is None or plan.cuda is None:
        return None
    version, nvcc = minor(plan.cuda), _nvcc(plan)
    own = nvcc or "nvcc"
    host = case.host
    found = [t for t in (host.toolkits if host is not None else ()) if t.name == "cuda"]
    fits = [t for t in found if t.version and minor(t.version) == version]
    test = f"{line(own)} --version 2>/dev/null | grep -q 'release {version},'"
    if nvcc is None:
        test = f"envbuild run -- nvcc --version 2>/dev/null | grep -q 'release {version},'"
    return Section(
        id="toolkit",
        title=f"CUDA {version}: the toolkit, to compile outside containers",
        why="the driver is one thing; the toolkit, which holds nvcc, another; the runtime that a "
        "framework's wheel brings a third. torch.cuda.is_available() needs no nvcc: leave this "
        "out unless you compile on the machine itself",
        steps=_steps(plan),
        test=test,
        fails="nvcc is not found by its bare name: it is not on PATH, the full path works. "
        "Another release: an older toolkit lies there, too",
        state=state(True if fits else (False if found or looked(case.host, "toolchain") else None)),
        seen=", ".join(f"CUDA {t.version} in {t.path}" for t in found),
        optional=case.plan.where != "host",
        source=next(f.source for f in plan.findings if f.id in {*_TOLD, "toolkit-chosen"}),
    )


def _steps(plan: Plan) -> tuple[Step, ...]:
    """Packages as the plan names them; else the private folder, the first of the plan's ways."""
    found = next((f.steps for f in plan.findings if f.id in _TOLD), ())
    return found if plan.toolkit_source in {"apt", "distro"} else found[:1]


def compiler(case: Case) -> Section | None:
    """A second host compiler, where the system's own is too new for the toolkit."""
    plan = native(case)
    if plan is None or plan.host_compiler is None or plan.host_compiler.max is None:
        return None
    major = _second(case, plan)
    if case.os is None or major is None:
        return None
    host = case.host
    found = [t.name for t in (host.compilers if host is not None else ())]
    return Section(
        id="host-compiler",
        title=f"g++ {major} is there, beside the system's own",
        why=f"CUDA {plan.cuda} takes gcc up to {plan.host_compiler.max} and the system's is "
        f"{case.os.gcc}; nvcc is told which one to use by -ccbin or NVCC_CCBIN=g++-{major}",
        steps=compilers.steps(case.os, major),
        test=f"g++-{major} --version >/dev/null 2>&1",
        fails="the system's archive is not on, or has no such compiler: build in a container",
        state=state(f"g++-{major}" in found if found else None),
        optional=case.plan.where != "host",
        source=f"toolkits/{minor(plan.cuda or '')} measured",
    )


def _second(case: Case, plan: Plan) -> int | None:
    """The compiler to add, None where the system's own will do."""
    most = plan.host_compiler.max if plan.host_compiler is not None else None
    if case.os is None or most is None or case.os.gcc is None or case.os.gcc <= most:
        return None
    return compilers.fitting(case.os, most)


def torch(case: Case) -> Section | None:
    """The framework that the plan asks for."""
    choice = case.plan.torch
    if choice is None:
        return None
    index = ("--index-url", choice.index_url) if choice.index_url else ()
    python = f'"$HOME/{_VENV}/bin/python"'
    code = 'import torch; x = torch.ones(1000, device="cuda"); assert x.sum().item() == 1000'
    install = line("-m", "pip", "install", f"torch=={choice.version}", *index)
    return Section(
        id="torch",
        title=f"torch {choice.version} ({choice.index}) adds on the GPU",
        why="its wheels bring CUDA libraries of their own: neither a toolkit nor nvcc is needed",
        steps=(
            *_venv(case),
            Step(
                why="an environment of its own",
                argv=("sh", "-c", f'python3 -m venv "$HOME/{_VENV}"'),
                check=f"{python} --version",
            ),
            Step(
                why="from this index: another build of the same version has other code",
                argv=("sh", "-c", f"{python} {install}"),
                check=f"{python} -c 'import torch; print(torch.__version__, torch.version.cuda)'",
            ),
        ),
        test=f"{python} -c {line(code)}",
        fails="no kernel image: the build has no code for this card. is_available() is False: the "
        "driver is too old for this build, or a Linux driver is in the way",
        source=f"torch/{choice.version}-{choice.index} measured",
    )


def _venv(case: Case) -> tuple[Step, ...]:
    """What Debian and Ubuntu leave out of Python."""
    if case.os is None or case.os.family != "apt" or case.kind == "rented":
        return ()
    return (
        Step(
            why="Debian and Ubuntu pack the part of Python that makes environments apart",
            argv=("sudo", "apt-get", "install", "-y", "python3-venv"),
            check="python3 -m venv --help",
        ),
    )


def _flags(plan: Plan) -> str:
    """The plan's targets as nvcc takes them, a flag each: lists in brackets would need quotes."""
    codes = re.findall(r"arch=(\w+),code=\[?([\w,]+)", " ".join(plan.gencode))
    each = [(arch, code) for arch, all_ in codes for code in all_.split(",")]
    return " ".join(f"-gencode arch={arch},code={code}" for arch, code in each)


def smoke(case: Case) -> Section | None:
    """A small program that checks every call: in the planned image, or on the machine itself."""
    if _in_image(case):
        return (
            None if case.way == "docker-desktop" else _contained(case, engine.flags(case), "docker")
        )
    plan = native(case)
    nvcc = _nvcc(plan) if plan is not None else None
    if plan is None or nvcc is None:
        return None
    section = _smoke(case, _compiled(case, plan, nvcc), proof.PROGRAM)
    return replace(section, optional=case.plan.where != "host")


def desktop_smoke(case: Case) -> Section | None:
    """The same through Docker Desktop."""
    if not _in_image(case) or case.way not in {"", "docker-desktop"}:
        return None
    section = _contained(case, ("--gpus", "all"), "docker-desktop")
    return replace(section, id="desktop-smoke")


def _contained(case: Case, run: tuple[str, ...], way: str) -> Section:
    image = case.plan.image.ref or ""
    step = proof.in_container(run, image, _flags(case.plan))
    section = _smoke(case, step, proof.container_line(run, image, "./smoke"))
    return replace(section, way=way if case.kind == "wsl2" else "")


def _compiled(case: Case, plan: Plan, nvcc: str) -> Step:
    major = _second(case, plan)
    return proof.compiled(nvcc, _flags(plan), f"g++-{major}" if major else None)


def _smoke(case: Case, step: Step, run: str) -> Section:
    return Section(
        id="smoke",
        title="A program runs on the GPU, every call and every sum checked",
        why="the first proof that counts: nvidia-smi alone starts no kernel. It names the card, "
        "the driver's CUDA and the toolkit's",
        steps=(step,),
        files=(_program(),),
        test=f"{run} | grep '^ok '",
        fails="error 35: the driver is older than the toolkit. 209, no kernel image: compiled for "
        "another card. 804: the image's own libcuda is in the way. 100: no device came in",
        source=f"toolkits/{minor(case.plan.cuda or '0.0')} measured",
    )


def _program() -> GuideFile:
    text = (folder("templates") / "setup" / "smoke.cu").read_text(encoding="utf-8")
    return GuideFile(path=f"{proof.FOLDER}/smoke.cu", text=text)


def certified(case: Case) -> Section | None:
    """From the plan to a kernel that ran, by envbuild: for an image that must be built first."""
    if _in_image(case) or case.plan.where == "host" or case.plan.torch is not None:
        return None
    argv = ("envbuild", "up", *(("--cc", ",".join(case.plan.cc)) if case.plan.cc else ()))
    return Section(
        id="certified",
        title="The planned image is built, and a kernel of it ran right",
        why="the suite 'smoke' checks every CUDA call, with controls that must fail",
        steps=(
            Step(
                why="plan, lock, build and certify; it goes on where it stopped",
                argv=argv,
                check="CERTIFIED smoke",
            ),
        ),
        test=proof.CERTIFIED,
        fails="the exit code says whose it is: 4 the machine, 5 the build, 6 the image",
        source=f"toolkits/{minor(case.plan.cuda or '0.0')} measured",
    )


def _tool(case: Case, name: str) -> str | None:
    """The path of a profiler that serves every card of the plan, None where there is none."""
    plan = native(case)
    nvcc = _nvcc(plan) if plan is not None else None
    if plan is None or plan.cuda is None or nvcc is None or not nvcc.startswith("/usr/local/"):
        return None
    platform = "wsl2" if case.plan.platform == "wsl2" else ""
    tools = load_reference().tools
    if not all(proof.served(tools, name, cc, minor(plan.cuda), platform) for cc in plan.cc):
        return None
    return re.sub(r"nvcc$", name, nvcc)


def timeline(case: Case) -> Section | None:
    """Nsight Systems, once."""
    path = _tool(case, "nsys")
    if path is None:
        return None
    return Section(
        id="nsys",
        title="Nsight Systems writes a timeline",
        why="it comes with the toolkit of the machine; once is enough to know that it works",
        steps=(*_own_program(case), proof.timeline(path)),
        test=f'test -s "$HOME/{proof.FOLDER}/timeline.nsys-rep"',
        fails="no program: the section above writes it. No report: the program itself did not run",
        optional=True,
        source="tools/nsys sourced",
    )


def _own_program(case: Case) -> tuple[Step, ...]:
    """The program by the machine's own toolkit, where the section before made it in an image."""
    plan = native(case)
    nvcc = _nvcc(plan) if plan is not None else None
    return (_compiled(case, plan, nvcc),) if plan and nvcc and _in_image(case) else ()


def _in_image(case: Case) -> bool:
    """The planned image has a compiler and needs no build."""
    plan = case.plan
    return plan.where != "host" and plan.toolkit_source == "image" and plan.image.flavour == "devel"


def counters(case: Case) -> Section | None:
    """Nsight Compute, once."""
    path = _tool(case, "ncu")
    if path is None:
        return None
    where = (
        "Windows guards the counters: see above"
        if case.kind == "wsl2"
        else "the driver guards them"
    )
    return Section(
        id="ncu",
        title="Nsight Compute reads the kernel's counters",
        why=f"{where}; sudo looks in its own folders alone, so that the program has its full path",
        steps=(proof.counters(path),),
        test=f'test -s "$HOME/{proof.FOLDER}/counters.ncu-rep"',
        fails="no program: the section above compiles it. ERR_NVGPUCTRPERM: the counters are not "
        "open"
        + (" on the Windows side; sudo does not help" if case.kind == "wsl2" else " for this user"),
        optional=True,
        source="tools/ncu sourced",
    )
