"""One image, or one host set-up: what was chosen becomes a plan, or a refusal."""

from envbuild.matrix.model import Matrices
from envbuild.planner import access, compose, explain
from envbuild.planner.choose import Choice, choose
from envbuild.planner.gencode import Code, cc_of_target, every_code, flags, gencode
from envbuild.planner.needs import lifetime, of_machine
from envbuild.planner.notes import Chosen, notes
from envbuild.planner.rules.base import some
from envbuild.planner.table import Table, remember
from envbuild.planner.target import Target
from envbuild.values.codec import replace
from envbuild.values.finding import Finding, outcome
from envbuild.values.plan import MatrixId, Plan


def plan_one(table: Table, target: Target) -> Plan:
    """One image or one host set-up; remembered, since equal targets have equal plans."""
    key = ("plan", target)
    known = table.memo.get(key)
    if isinstance(known, Plan):
        return known
    choice = choose(table, target)
    made = _refused(table, target) if choice is None else _planned(table, target, choice)
    remember(table, key, made)
    return made


def matrix_id(matrices: Matrices) -> MatrixId:
    """What every plan records of its matrices."""
    return MatrixId(date=matrices.date, digest=matrices.digest)


def _refused(table: Table, target: Target) -> Plan:
    # A plan that is there does not pay for the modules of one that is not.
    from envbuild.planner.refusal import refusal

    return Plan(
        outcome="refuse",
        cc=target.cc,
        where=target.where,
        platform=target.platform,
        arch=target.arch or "x86_64",
        findings=refusal(table, target),
        alternatives=explain.alternatives(table, target, None),
        request=target.request,
        declared=target.declared,
        provenance=target.provenance,
        matrix=matrix_id(table.matrices),
    )


def _explained(table: Table, target: Target, choice: Choice, finding: Finding) -> Finding:
    """A source that is not taken: the rule saw one place, the reason is about all of its places."""
    if finding.id != "toolkit-source":
        return finding
    place, asked = choice.place, target.source or ""
    says = f"--toolkit-source {asked} cannot serve this request: {place.source} is taken"
    bases = table.bases(place.cuda, asked) if not target.on_host else []
    if bases and place.os not in bases:
        says += f"; {asked} has CUDA {place.cuda} on {some(bases)}"
    return replace(finding, says=says, why=explain.against_source(table, target, choice))


def _every(table: Table, choice: Choice, made: tuple[Code, ...]) -> tuple[str, ...]:
    """What ``--cc all`` is: all that is compiled for, else that the wheel or toolkit has."""
    if not made and choice.build is not None:
        return tuple(dict.fromkeys(cc_of_target(target) for target in choice.build.targets))
    toolkit = table.toolkits.get(choice.place.cuda)
    if not made and toolkit is not None:
        made = every_code(table, toolkit)
    return tuple(code.cc for code in made)


def _planned(table: Table, target: Target, choice: Choice) -> Plan:
    place = choice.place
    made = compose.plan_codes(table, target, place)
    cc = _every(table, choice, made) if target.every_cc else target.cc
    short = tuple(_explained(table, target, choice, finding) for finding in choice.short)
    findings = (*short, *notes(Chosen(table, target, choice, made, cc)))
    if target.tools is not None and target.tools.root:
        from envbuild.planner.notes.tools import as_root

        findings = as_root(findings)
    disable = any(f.id == "image-require" for f in choice.short)
    packages = compose.packages(table, target, choice)
    os = table.os_of(place)
    python = os.python if os is not None else target.python
    return Plan(
        outcome=outcome(findings),
        cc=cc,
        where=target.where,
        # Wheels are released with a fourth part at times, which no other name of a toolkit has.
        cuda=".".join(place.release.split(".")[:3]),
        toolkit_source=place.source,
        image=compose.image(table, target, place),
        layout=compose.layout(table, target, place, disable),
        host_compiler=compose.host_compiler(table, target, place),
        gencode=gencode(made),
        flags=flags(made),
        env=compose.environment(table, target, choice, made, disable),
        torch=compose.torch(table, choice.build),
        packages=packages,
        apt=compose.apt(table, target, choice, python=bool(packages)),
        driver=of_machine(table, target, place, cc),
        access=target.access,
        platform=target.platform,
        arch=target.arch or "x86_64",
        python=python if packages else None,
        run=access.run_flags(target),
        size=compose.size(place),
        lasts_until=lifetime(table, target, place, cc),
        findings=findings,
        alternatives=explain.alternatives(table, target, choice),
        request=target.request,
        declared=target.declared,
        provenance=target.provenance,
        promise=tuple(code.target for code in made),
        matrix=matrix_id(table.matrices),
    )
