"""A Jetson: driver and CUDA are those of its L4T, and the engine takes the nvidia runtime."""

from envbuild.advice.fixes import driver as fixes
from envbuild.advice.guide import engine, toolkit
from envbuild.advice.guide.base import Case, Make, state
from envbuild.matrix.load import load
from envbuild.matrix.model import JetsonRow
from envbuild.values.guide import Section


def _line(case: Case) -> JetsonRow | None:
    """The L4T line that the plan is for."""
    known = {row.l4t: row for row in load().jetson}
    named = next((p.value for p in case.plan.provenance if p.fact == "l4t"), None)
    return known.get(named or "")


def l4t(case: Case) -> Section | None:
    """The release that brings driver and CUDA."""
    row = _line(case)
    if row is None:
        return None
    here = case.host.jetson.l4t if case.host is not None and case.host.jetson is not None else None
    major = row.l4t.split(".")[0]
    return Section(
        id="l4t",
        title=f"L4T {row.l4t} (JetPack {row.jetpack}, CUDA {row.cuda})",
        why=f"driver and CUDA of a Jetson are part of its L4T; this one runs on {row.devices}. No "
        "driver package of a PC or server fits: never install one",
        steps=(fixes.of_l4t(row.l4t),),
        test=f"grep -q '^# R{major} ' /etc/nv_tegra_release",
        fails="another L4T: plan for it (--l4t), or flash this one with SDK Manager",
        state=state(here.lstrip("rR").startswith(major) if here else None),
        seen=f"L4T {here}" if here else "",
        source=f"jetson/{row.l4t} {row.status}",
    )


def default_runtime(case: Case) -> Section | None:
    """Where the image holds no CUDA, a build needs that of the machine."""
    found = [f for f in case.plan.findings if f.id == "l4t-mounted"]
    if not found:
        return None
    return Section(
        id="default-runtime",
        title="docker's default runtime is nvidia",
        why=found[0].says,
        steps=found[0].steps,
        test="docker info --format '{{.DefaultRuntime}}' | grep -qx nvidia",
        fails="daemon.json has an error (journalctl -u docker shows the line), or docker was not "
        "restarted",
        source=found[0].source,
    )


SECTIONS: tuple[Make, ...] = (
    l4t,
    engine.container_toolkit,
    default_runtime,
    engine.container_gpu,
    toolkit.torch,
    toolkit.certified,
    toolkit.smoke,
)
