"""A refusal: the smallest conflict, what decided, and every smallest correction."""

from envbuild.errors import NoPlanError
from envbuild.planner.conflict import conflict
from envbuild.planner.explain import decided, hard
from envbuild.planner.rules.base import about, without_name
from envbuild.planner.table import Table, bits
from envbuild.planner.target import Part, Target, parts, without
from envbuild.planner.ways import ways
from envbuild.values.codec import replace
from envbuild.values.finding import Finding
from envbuild.values.plan import Plan


def refusal(table: Table, target: Target) -> tuple[Finding, ...]:
    """The conflict with its cures as steps, then the findings that decided."""
    clash = conflict(table, target)
    deciding = _deciding(table, target, clash.core)
    first = Finding(
        id="conflict",
        severity="error",
        says=_says(clash.core),
        why="; ".join(f.says for f in deciding[:2]),
        steps=ways(table, target, clash),
        source=" · ".join(dict.fromkeys(f.source for f in deciding)),
    )
    return (first, *deciding)


def _says(core: tuple[Part, ...]) -> str:
    facts = " and ".join(p.says for p in core if p.kind == "fact")
    wishes = " and ".join(p.says for p in core if p.kind == "wish")
    together = " together" if len(core) > 1 else ""
    if not core:
        return "nothing in these matrices serves this platform"
    if not facts or not wishes:
        return f"nothing serves {facts or wishes}{together}"
    fact = "facts" if sum(p.kind == "fact" for p in core) > 1 else "a fact"
    wish = "wishes" if sum(p.kind == "wish" for p in core) > 1 else "a wish"
    return f"{facts} ({fact}) and {wishes} ({wish}) exclude each other"


def _deciding(table: Table, target: Target, core: tuple[Part, ...]) -> tuple[Finding, ...]:
    """What decided about the toolkits asked for; neighbours with one reason share a finding."""
    alone = without(target, tuple(p for p in parts(target) if p not in core))
    asked = [c for c in reversed(table.toolkits) if _in_range(table, target, c)]
    by_core, by_all = hard(table, alone), hard(table, target)
    runs: list[list[tuple[str, Finding]]] = []
    for cuda in asked or list(reversed(table.toolkits)):
        finding = decided(table, alone, cuda, by_core) or decided(table, target, cuda, by_all)
        if finding is None:
            continue
        if runs and _reason(*runs[-1][-1]) == _reason(cuda, finding):
            runs[-1].append((cuda, finding))
        else:
            runs.append([(cuda, finding)])
    # A reason of each kind before the second of one: the reader sees every side of the conflict.
    seen: dict[str, int] = {}
    ranked = []
    for run in runs:
        kind = run[0][1].id
        seen[kind] = seen.get(kind, 0) + 1
        ranked.append((seen[kind], _merged(run)))
    unique = dict.fromkeys(f for _, f in sorted(ranked, key=lambda pair: pair[0]))
    return tuple(unique)[:4]


def _reason(cuda: str, finding: Finding) -> tuple[str, str]:
    return finding.id, without_name(cuda, finding.says)


def _merged(run: list[tuple[str, Finding]]) -> Finding:
    """``CUDA 13.0-13.5: ...``; the row cited is the oldest toolkit's."""
    newest, oldest = run[0], run[-1]
    text = without_name(*(newest[0], newest[1].says))
    if len(run) == 1 or text == newest[1].says:
        return newest[1]
    return replace(oldest[1], says=about(f"{oldest[0]}-{newest[0]}", text))


def _in_range(table: Table, target: Target, cuda: str) -> bool:
    wanted = target.cuda
    places = bits(table.of_cuda.get(cuda, 0))
    return wanted is None or any(table.places[i].release in wanted for i in places)


def no_plan(plan: Plan) -> NoPlanError:
    """A refusal as the error that other commands end with."""
    first = next(f for f in plan.findings if f.severity == "error")
    fixes = [f"{step.why}: {' '.join(step.argv) or step.text}" for step in first.steps]
    return NoPlanError(first.says, why=first.why, fix="\n      ".join(fixes))
