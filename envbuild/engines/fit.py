"""A plan as a machine without containers can make it."""

from envbuild.engines.device import device_plan
from envbuild.engines.local import LocalEngine
from envbuild.engines.toolkits import Toolkit
from envbuild.matrix.model import Matrices
from envbuild.planner.plan import plan as make
from envbuild.planner.resolve import resolve
from envbuild.values.codec import replace
from envbuild.values.finding import Finding
from envbuild.values.plan import Plan


def local_plan(engine: LocalEngine, plan: Plan, matrices: Matrices) -> Plan:
    """The same request, planned for what the local engine has or can make.

    A toolkit that is here is planned with its own version; else wheels with a compiler; else
    NVRTC from wheels. The plan comes back as it is where the user named another source, or where
    none of these serves: then the engine says what is missing.
    """
    found = engine.fitting(plan)
    if found is not None:
        again = _again(plan, matrices, cuda=found.cuda)
        return _with_toolkit(again if again and engine.fitting(again) else plan, found)
    if plan.request.toolkit_source not in (None, "wheels"):
        return plan
    if plan.toolkit_source != "wheels":
        again = _again(plan, matrices, toolkit_source="wheels")
        if again is None or again.toolkit_source != "wheels":
            return device_plan(plan, matrices) or plan
        return again
    return plan


def _with_toolkit(plan: Plan, found: Toolkit) -> Plan:
    """Say in the plan what serves in place of its image."""
    says = f"CUDA {found.cuda} in {found.root} is here and serves: no image, nothing is fetched"
    finding = Finding(id="toolkit-here", severity="info", says=says, source="this machine")
    return replace(plan, findings=(*plan.findings, finding))


def _again(plan: Plan, matrices: Matrices, **wishes: str) -> Plan | None:
    """The plan with other wishes; its record of what the user asked for stays as it was."""
    facts = {p.fact: p.value for p in plan.provenance}
    request = replace(plan.request, cc=plan.cc, gpus=(), split=False, **wishes)
    if "driver" in facts:
        request = replace(request, driver=facts["driver"])
    again = make(resolve(request, None, matrices), matrices)
    if not isinstance(again, Plan) or again.outcome == "refuse":
        return None
    recorded = {"request": plan.request, "declared": plan.declared, "provenance": plan.provenance}
    return replace(again, **recorded)
