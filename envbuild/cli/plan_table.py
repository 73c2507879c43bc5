"""A plan as people read it."""

from collections.abc import Iterable, Iterator
from itertools import groupby, takewhile

from envbuild.cli.show import clean, command, paint
from envbuild.values.finding import Finding, Step
from envbuild.values.plan import DriverNeed, Fleet, HostCompiler, Plan

_COLOURS = {"ok": "green", "warn": "yellow", "refuse": "red"}
_SEVERITIES = (("error", "red"), ("warn", "yellow"), ("watch", "bold"), ("info", "dim"))
_WIDTH, _INDENT = 200, 12
# Steps that a line to watch may have before they are left to --explain.
_FEW = 2
_TORCH = ("torch-newest", "torch-none")  # findings that the torch line shows


def lines(made: Plan | Fleet, *, explain: bool, host: str | None = None) -> Iterator[str]:
    """The lines of the table, without line ends.

    Args:
        made: what is shown.
        explain: every toolkit with its reason.
        host: the recorded host that was planned for, which the next command needs again.
    """
    if isinstance(made, Plan):
        shown = plan(made, explain=explain, host=host)
    else:
        from envbuild.cli import fleet_table

        shown = fleet_table.lines(made, explain=explain)
    for line in shown:
        # A name of a file or a machine must not look like a line of its own.
        yield from _folded(" ".join(line.splitlines()))


def _folded(line: str) -> Iterator[str]:
    """A long line as several, cut between words; a command is copied, and stays whole."""
    if line.startswith(" " * _INDENT):
        yield line
        return
    while len(line) > _WIDTH and (at := line.rfind(" ", _INDENT + 1, _WIDTH)) > 0:
        yield line[:at]
        line = " " * _INDENT + line[at + 1 :]
    yield line


def plan(plan: Plan, *, explain: bool, host: str | None = None) -> Iterator[str]:
    """One plan, or why there is none."""
    if plan.outcome == "refuse":
        yield from refusal(plan.findings, f" for cc {', '.join(plan.cc)}" if plan.cc else "")
        if explain:
            yield from _why(plan, explain=True)
        yield _origin(plan)
        yield from _after(plan, explain=explain)
        return
    yield f"{outcome(plan.outcome)}  {clean(_title(plan))}"
    yield from _choices(plan)
    yield from _why(plan, explain=explain)
    yield from findings(plan.findings, explain=explain)
    yield _origin(plan)
    yield "next  " + clean(_next(plan, host, explain=explain))


def _after(plan: Plan, *, explain: bool) -> Iterator[str]:
    """Where to look after a refusal."""
    stuck = not any(step.argv for f in plan.findings for step in f.steps) and plan.cc
    known = [f"envbuild matrix show --cc {plan.cc[0]} tells what is known of it"] if stuck else []
    each = [] if explain else ["each toolkit by itself: --explain"]
    if known or each:
        yield "next  " + " · ".join((*known, *each))


def outcome(outcome: str) -> str:
    """``ok``, ``warn`` or ``refuse`` in its colour."""
    return paint(outcome, _COLOURS[outcome])


def _title(plan: Plan) -> str:
    """The chosen toolkit's finding, with the exact release."""
    says = next((f.says for f in plan.findings if f.id == "toolkit-chosen"), f"CUDA {plan.cuda}")
    _, _, rest = says.partition(" for ")
    where = "" if plan.where == "image" else "on this machine, "
    return f"CUDA {plan.cuda} {where}for {rest}" if rest else says


def _choices(plan: Plan) -> Iterator[str]:
    ways = [f"{a.way} {a.cuda}" for a in plan.alternatives if a.way]
    other = f"      other ways: {', '.join(ways)}" if ways else ""
    ref = plan.image.ref
    if ref is not None:
        from_source = "" if plan.toolkit_source == "image" else f", CUDA as {plan.toolkit_source}"
        yield row("image", f"{ref}{from_source}{other}")
    elif here := next((f.says for f in plan.findings if f.id == "toolkit-here"), ""):
        yield row("toolkit", f"{here.partition(':')[0]}{other}")
    else:
        yield row("toolkit", f"CUDA {plan.cuda} as {plan.toolkit_source}{other}")
    if plan.host_compiler is not None:
        yield row("compiler", _compiler(plan, plan.host_compiler))
    if plan.flags.nvcc:
        nvcc, cmake, torch = plan.flags.nvcc, plan.flags.cmake, plan.flags.torch
        yield row("flags", f"nvcc {nvcc} · cmake {cmake} · TORCH_CUDA_ARCH_LIST={torch}")
    yield from (row("driver", text) for text in _drivers(plan))
    if plan.where == "image":
        yield row("access", _access(plan))
    yield row("torch", _torch(plan))
    if plan.packages:
        yield row("packages", ", ".join(plan.packages))
    if plan.apt:
        yield row("apt", " ".join(plan.apt))
    if plan.size.disk_mib is not None:
        yield row("size", f"{plan.size.disk_mib} MiB ({plan.size.basis})")
    yield row("lasts", _lasts(plan))


def _lasts(plan: Plan) -> str:
    ends = plan.lasts_until
    if ends.until is None:
        return ends.why
    past = ends.until < (plan.request.as_of or plan.matrix.date)[:7]
    return f"ended {ends.until}, with {ends.why}" if past else f"until {ends.until}: {ends.why}"


def _compiler(plan: Plan, compiler: HostCompiler) -> str:
    name, most = compiler.name, ""
    if compiler.max is not None:
        most = f"CUDA {plan.cuda} takes {name} up to {compiler.max}"
    if compiler.version is None:
        whose = "this machine's" if plan.where == "host" else f"the one of {plan.image.os}"
        return "; ".join(part for part in (f"{name}, {whose}", most) if part)
    on = f" on {plan.image.os}" if plan.image.os is not None else ""
    return "; ".join(part for part in (f"{name} {compiler.version}{on}", most) if part)


def _torch(plan: Plan) -> str:
    if plan.torch is not None:
        address = f" ({plan.torch.index_url})" if plan.torch.index_url else ""
        return f"{plan.torch.version} from {plan.torch.index}{address}"
    newest = next((f.says for f in plan.findings if f.id in _TORCH), "")
    return newest.removeprefix("torch was ") or "not asked for"


def row(name: str, text: str) -> str:
    """A line of the table."""
    return f"  {name:<9} {clean(text)}"


def _drivers(plan: Plan) -> Iterator[str]:
    """One line a driver: cards with the same need share it."""
    fact = next((p for p in plan.provenance if p.fact == "driver"), None)
    seen = fact is not None and fact.origin not in {"flag", "file"}
    given = "" if fact is None else f"{fact.value} {'found here' if seen else 'given'}; "
    of_windows = "that of Windows, " if plan.platform == "wsl2" else ""
    groups: dict[str, list[str]] = {}
    for need in plan.driver:
        text = _driver(need, fact.value if fact is not None else None)
        text = text or ("not known" if plan.platform == "wsl2" else "the one of its L4T")
        groups.setdefault(text, []).append(need.cc or "")
    for text, cards in groups.items():
        whose = f" (cc {', '.join(cards)})" if len(groups) > 1 else ""
        yield f"{given}{of_windows}{text}{whose}"


def _access(plan: Plan) -> str:
    """How a container gets its GPU, and where that is from."""
    said = {f.id for f in plan.findings}
    podman = any(p.fact == "engine" and p.value == "podman" for p in plan.provenance)
    flags = plan.run.podman if podman else plan.run.docker
    flags = plan.run.apptainer if plan.access == "native" else flags
    seen = any(p.fact == "access" and p.origin != "default" for p in plan.provenance)
    if "container-access" in said:
        why = "after the steps of container-access below"
    elif "container-engine" in said:
        why = "on other machines, no engine answers here"
    elif seen:
        trouble = said & {"cdi-spec-version", "docker-gpus-cdi", "docker-iptables-raw"}
        why = "the best that the engine here offers"
        why += f", after the steps of {min(trouble)} below" if trouble else ""
    else:
        why = "assumed, no engine "
        why += "was looked at" if plan.declared else "that gives a GPU was seen here"
    return f"{' '.join(flags)} ({plan.access}): {why}"


def _driver(need: DriverNeed, given: str | None) -> str:
    """What a card needs: the driver to install, or, beside one in hand, whether a newer one is."""
    parts = []
    newest = need.recommended
    if newest is not None and given is not None:
        newest = f"recommended {newest}" if _numbers(given) < _numbers(newest) else None
    if need.last_branch is not None:
        last = f"R{need.last_branch}{f' ({need.recommended})' if need.recommended else ''}"
        advised = "recommended " if newest not in {None, need.recommended} else ""
        parts.append(f"{advised}{last}, the last branch")
    elif newest is not None:
        parts.append(newest)
    if need.module is not None:
        parts.append("either kernel module" if need.module == "either" else f"{need.module} module")
    text = ", ".join(parts)
    least = f"least {need.min}" if need.min else ""
    return "; ".join(part for part in (text, least) if part)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdigit()]


def refusal(findings: tuple[Finding, ...], whom: str) -> Iterator[str]:
    """What conflicts, each reason, and what would help."""
    errors = [f for f in findings if f.severity == "error"]
    yield f"{outcome('refuse')}  no plan{whom}: {clean(errors[0].says)}"
    for finding in errors[1:]:
        yield f"  {clean(finding.says):<70}  {clean(finding.source)}"
    for step in errors[0].steps:
        yield from _step(step)


def _why(plan: Plan, *, explain: bool) -> Iterator[str]:
    """Toolkits with the same reason share a line; those below the chosen one only if asked for."""
    judged = [a for a in plan.alternatives if not a.way]
    chosen = [f for f in plan.findings if f.id == "toolkit-chosen"]
    if explain:
        reason = f"chosen: {chosen[0].why}" if chosen else "chosen"
        rows = _grouped(
            (a.cuda, f"{a.outcome:<6}  {reason if a.why == 'chosen' else a.why}", a.source)
            for a in judged
        )
    else:
        above = takewhile(lambda a: a.why != "chosen", judged)
        rows = _grouped((a.cuda, a.why, a.source) for a in above)
        rows += [(plan.cuda or "", f.why, f.source) for f in chosen]
    for i, (cuda, says, source) in enumerate(rows):
        name = "why" if i == 0 else ""
        yield f"{name:<5} {cuda:<10} {clean(says):<50}  {paint(clean(source), 'dim')}"


def _grouped(rows: Iterable[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """``13.0-13.5`` for neighbours with one reason; the oldest one's row is the source."""
    found = []
    for says, run in groupby(rows, key=lambda row: row[1]):
        same = [*run]
        (newest, *_), (oldest, _, source) = same[0], same[-1]
        found.append((newest if newest == oldest else f"{oldest}-{newest}", says, source))
    return found


def findings(every: tuple[Finding, ...], *, explain: bool = False) -> Iterator[str]:
    """Errors and warnings, what to watch, then what explains.

    What is only to be watched keeps its steps, where they are many, for who asks to be explained.
    """
    shown = {"toolkit-chosen", *_TORCH}
    for severity, colour in _SEVERITIES:
        group = [f for f in every if f.severity == severity and f.id not in shown]
        for i, finding in enumerate(group):
            name = paint(f"{severity:<5}", colour) if i == 0 else " " * 5
            yield f"{name} {_finding(finding)}"
            if severity == "watch" and len(finding.steps) > _FEW and not explain:
                yield row("do", f"{len(finding.steps)} steps: --explain shows them")
                continue
            for step in finding.steps:
                yield from _step(step)


def _step(step: Step) -> Iterator[str]:
    """Why, and how to see that it worked; then what to do, on a line of its own."""
    check = f"; check: {step.check}" if step.check else ""
    yield row("do", f"{step.why}{check}")
    yield row("", command(step.argv) if step.argv else step.text)


def _finding(finding: Finding) -> str:
    why = f" ({finding.why})" if finding.why else ""
    return f"{finding.id:<20} {clean(finding.says + why)}   {paint(clean(finding.source), 'dim')}"


def _origin(plan: Plan) -> str:
    made = f"matrices of {plan.matrix.date}"
    if plan.declared:
        return f"declared, nothing on this machine was looked at · {made}"
    origin = next(
        (p.origin for p in plan.provenance if p.origin not in {"flag", "file"}), "detected"
    )
    what = "from a recorded host" if origin == "recorded" else "detected on this machine"
    return f"{what} · {made}"


def _next(plan: Plan, host: str | None, *, explain: bool) -> str:
    from envbuild.planner.spell import argv

    words = argv(plan.request, "up")
    up = command(words if host is None else (*words, "--host", host))
    if plan.where == "host":
        # Nothing is built: the machine itself changes.
        there = any(f.id == "toolkit-here" for f in plan.findings)
        up = f"the steps of {'toolkit-here' if there else 'host-install'} above"
    why = "" if explain else " · why not the others: --explain"
    return f"{up}{why} · for programs: --json"
