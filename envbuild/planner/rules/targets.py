"""What is compiled for which card: target sets, arch-specific targets, hardware features."""

from envbuild.matrix.model import Capability, Toolkit
from envbuild.planner.gencode import real_target, split, targets_with
from envbuild.planner.rules.base import NVCC, about, error, rule
from envbuild.planner.table import Place, Table, cite
from envbuild.planner.target import Target
from envbuild.values.finding import Finding


@rule(("kind",), asked=("features",), each="cards")
def feature_in_hardware(table: Table, place: Place, target: Target) -> Finding | None:
    """A feature that a card does not have, whatever compiles for it."""
    del place
    for name in target.features:
        row = table.features.get(name)
        if row is None:
            continue
        for card in target.cards:
            if name == "tensor-cores" and card.tensor_cores is False:
                who = card.name or "this card"
                says = f"{who} has no tensor cores, although cc {card.cc} assembles their code"
                return error("feature-hardware", says, cite(row, row.name))
            if not targets_with(table, card.cc, (name,)):
                have = ", ".join(_cc_with(table, row.targets))
                says = f"cc {card.cc} has no {name}: {row.means} It exists on cc {have}."
                return error("feature-hardware", says, cite(row, row.name))
    return None


@rule("toolkit", "features", binds=NVCC, each="cc")
def toolkit_target(table: Table, toolkit: Toolkit, target: Target) -> Finding | None:
    """The toolkit's assembler must have a target for every cc, with the features asked for."""
    for cc in target.cc:
        if real_target(table, toolkit, cc, target.features) is None:
            says, why = _lacks(table, toolkit, table.capability(cc), target.features)
            source = cite(toolkit, toolkit.cuda)
            return error("toolkit-target", about(toolkit.cuda, says), source, why)
    return None


def _lacks(
    table: Table, toolkit: Toolkit, row: Capability, features: tuple[str, ...]
) -> tuple[str, str]:
    """What is missing, and why that matters."""
    for alias in row.aliases:
        if alias in toolkit.targets:
            major, minor, _ = split(alias)
            says = (
                f"it calls {row.arch} sm_{alias} ({major}.{minor}); "
                f"sm_{row.target} exists from CUDA {_first(table, row.target)} on"
            )
            return says, "later toolkits and drivers do not look for code of the old name"
    if row.target in toolkit.targets:
        wanted = targets_with(table, row.cc, features)
        names = " or ".join(f"sm_{t}" for t in wanted) or f"one target of {row.cc}"
        needs = f"which {', '.join(features)} needs"
        return f"no {names}, {needs}: from CUDA {_first(table, *wanted)} on", ""
    plain = sorted((t for t in toolkit.targets if t.isdigit()), key=int)
    if plain and int(row.target) < int(plain[0]):
        major, minor, _ = split(plain[0])
        last = row.last_toolkit or _last(table, row.target)
        return f"no target below {major}.{minor}; sm_{row.target} ends with CUDA {last}", (
            f"{row.arch} is cc {row.cc}"
        )
    first = _first(table, row.target)
    return f"no sm_{row.target} yet: from CUDA {first} on", f"{row.arch} is cc {row.cc}"


def _first(table: Table, *targets: str) -> str:
    has = [c for c, t in table.toolkits.items() if set(targets) & set(t.targets)]
    return has[0] if has else "none of these matrices"


def _last(table: Table, target: str) -> str:
    has = [c for c, t in table.toolkits.items() if target in t.targets]
    return has[-1] if has else "releases older than these matrices"


def _cc_with(table: Table, targets: tuple[str, ...]) -> list[str]:
    plain = {t.rstrip("af") for t in targets}
    return [f"{row.cc} ({row.arch})" for row in table.capabilities.values() if row.target in plain]
