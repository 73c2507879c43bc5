"""What is left where no compiler can be had without containers: device code alone, by NVRTC."""

import platform

from envbuild.engines.toolkits import in_range, numbers
from envbuild.matrix.model import Matrices, WheelToolkit
from envbuild.values.codec import replace
from envbuild.values.finding import Finding, Step, outcome
from envbuild.values.plan import Layout, Plan

NO_NVCC = (
    "wheels hold nvcc from CUDA 13.0 on, and 13.x compiles nothing below 7.5: this prefix compiles "
    "device code only, with NVRTC"
)
WAYS = (
    Step(
        why="a whole compiler for this cc, in a container (docker or podman)",
        text="--toolkit-source image (12.9 and older), or --toolkit-source distro (Debian's own)",
    ),
    Step(
        why="a whole compiler for this cc, without one",
        text="install a toolkit up to 12.9 (the vendor's packages or archives, conda) and set "
        "CUDA_HOME to it: envbuild then uses it",
    ),
)


def device_plan(plan: Plan, matrices: Matrices) -> Plan | None:
    """The plan with NVRTC from wheels instead of a whole toolkit; None where no wheels serve it.

    The newest wheels that know every promised target, in the range asked for, and not newer than
    the planned toolkit (a newer one may need a newer driver).
    """
    row = next((row for row in matrices.wheels if _serves(row, plan, matrices)), None)
    if row is None:
        return None
    finding = Finding(
        id="device-code-only",
        severity="warn",
        says=f"CUDA {row.cuda} from wheels has no nvcc",
        why=NO_NVCC,
        steps=WAYS,
        source=f"wheels/{row.release} {row.status}",
    )
    findings = (*plan.findings, finding)
    return replace(
        plan,
        outcome=outcome(findings),
        cuda=".".join(row.release.split(".")[:3]),
        toolkit_source="wheels",
        packages=(f"cuda-toolkit[{','.join(row.extras)}]=={row.release}",),
        apt=(),
        layout=Layout(prefix=row.prefix),
        host_compiler=None,
        python=".".join(platform.python_version_tuple()[:2]),
        findings=findings,
    )


def _serves(row: WheelToolkit, plan: Plan, matrices: Matrices) -> bool:
    toolkit = next((t for t in matrices.toolkits if t.cuda == row.cuda), None)
    wanted = plan.request.cuda
    return (
        toolkit is not None
        and set(plan.promise) <= set(toolkit.targets)
        and plan.arch in row.arches
        and (plan.cuda is None or numbers(row.cuda) <= numbers(plan.cuda)[:2])
        and (not wanted or in_range(row.cuda, wanted))
    )
