"""A refusal: the smallest conflict, what decided, and every smallest correction."""

from envbuild.errors import NoPlanError
from envbuild.planner import rules
from envbuild.planner.conflict import conflict
from envbuild.planner.explain import decided, hard, kind_of
from envbuild.planner.ranges import Range
from envbuild.planner.rules.base import about, error, verdict, without_name
from envbuild.planner.table import Table, cite
from envbuild.planner.target import Part, Target, parts, without
from envbuild.planner.ways import ways
from envbuild.values.codec import replace
from envbuild.values.finding import Finding
from envbuild.values.plan import Plan


def refusal(table: Table, target: Target) -> tuple[Finding, ...]:
    """The conflict with its cures as steps, then the findings that decided."""
    clash = conflict(table, target)
    reasons = deciding(table, target, clash.core)
    first = Finding(
        id="conflict",
        severity="error",
        says=_says(clash.core),
        why="; ".join(f.says for f in reasons[:2]),
        steps=ways(table, target, clash),
        source=" · ".join(dict.fromkeys(f.source for f in reasons)),
    )
    return (first, *reasons)


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


def deciding(table: Table, target: Target, core: tuple[Part, ...]) -> tuple[Finding, ...]:
    """What decided about the toolkits asked for; those with one reason share a finding."""
    if target.cuda is not None and not any(p.release in target.cuda for p in table.places):
        return (_no_such_cuda(table, target.cuda),)
    # A platform numbers its drivers in its own way, also where it is no part of the conflict.
    dropped = tuple(p for p in parts(target) if p not in core and p.field != "platform")
    alone = without(target, dropped)
    kind = kind_of(table, target)
    there = [c for c in table.toolkits if table.of_cuda.get(c, 0) & kind] or list(table.toolkits)
    wanted = kind & verdict(rules.wishes.cuda_range, table, target).mask
    asked = [c for c in there if table.of_cuda.get(c, 0) & wanted]
    if not asked:
        # What was asked for is there, but not as this kind of place: it says why.
        within = verdict(rules.wishes.cuda_range, table, target).mask
        asked = [c for c in table.toolkits if table.of_cuda.get(c, 0) & within] or there
    by_core, by_all = hard(table, alone), hard(table, target)
    found: dict[tuple[str, str], list[tuple[str, Finding]]] = {}
    for cuda in reversed(asked):
        finding = decided(table, alone, cuda, by_core) or decided(table, target, cuda, by_all)
        if finding is not None:
            reason = finding.id, without_name(cuda, finding.says)
            found.setdefault(reason, []).append((cuda, finding))
    return tuple(_merged(same, asked) for same in found.values())


def _no_such_cuda(table: Table, wanted: Range) -> Finding:
    """A range outside the matrices says nothing about the card or the driver."""
    first, last = table.served[0], table.served[-1]
    says = f"no CUDA {wanted.text} in these matrices, which hold {first} to {last}"
    levels = [b for b in table.matrices.branches if b.cuda is not None and b.cuda in wanted]
    for row in levels[:1]:
        says += f"; nvidia-smi of R{row.branch} shows {row.cuda}, but no such toolkit was released"
    return error("cuda-range", says, cite(table.toolkits[last], last))


def _merged(same: list[tuple[str, Finding]], asked: list[str]) -> Finding:
    """``CUDA 13.0-13.5: ...``; the row cited is the oldest toolkit's."""
    cuda, finding = same[-1]
    text = without_name(cuda, finding.says)
    if text == finding.says and len(same) == len(asked):
        return finding
    return replace(finding, says=about(_spans([c for c, _ in same], asked), text))


def _spans(some: list[str], every: list[str]) -> str:
    """``12.0, 12.2-12.3``: neighbours among all as spans, ascending."""
    spans: list[list[str]] = []
    for cuda in every:
        if cuda not in some:
            spans.append([])
        elif spans and spans[-1]:
            spans[-1].append(cuda)
        else:
            spans.append([cuda])
    return ", ".join(s[0] if len(s) == 1 else f"{s[0]}-{s[-1]}" for s in spans if s)


def no_plan(plan: Plan) -> NoPlanError:
    """A refusal as the error that other commands end with."""
    from shlex import join

    first = next(f for f in plan.findings if f.severity == "error")
    fixes = [f"{step.why}: {join(step.argv) or step.text}" for step in first.steps]
    return NoPlanError(first.says, why=first.why, fix="\n      ".join(fixes))
