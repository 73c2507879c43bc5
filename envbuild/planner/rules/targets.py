"""What is compiled for which card: target sets, arch-specific targets, hardware features."""

from envbuild.matrix.model import Toolkit
from envbuild.planner.gencode import real_target, split, targets_with
from envbuild.planner.rules.base import error, rule
from envbuild.planner.table import Table, cite
from envbuild.planner.target import Target
from envbuild.values.finding import Finding


@rule("toolkit", "cards", "features")
def feature_in_hardware(table: Table, toolkit: Toolkit, target: Target) -> Finding | None:
    """A feature that a card does not have, whatever compiles for it."""
    del toolkit
    for name in target.features:
        row = table.features.get(name)
        if row is None:
            continue
        for card in target.cards:
            if name == "tensor-cores" and card.tensor_cores is False:
                says = f"{card.name} has no tensor cores, although its cc {card.cc} assembles their code"
                return error("feature-hardware", says, cite(row, row.name))
            if not targets_with(table, card.cc, (name,)):
                have = ", ".join(_cc_with(table, row.targets))
                says = f"cc {card.cc} has no {name}: {row.means} It exists on cc {have}."
                return error("feature-hardware", says, cite(row, row.name))
    return None


@rule("toolkit", "cc", "features", compiling=True)
def toolkit_target(table: Table, toolkit: Toolkit, target: Target) -> Finding | None:
    """The toolkit's assembler must have a target for every cc, with the features asked for."""
    source = cite(toolkit, toolkit.cuda)
    lacking = [cc for cc in target.cc if real_target(table, toolkit, cc, target.features) is None]
    if not lacking:
        return None
    cc = lacking[0]
    row = table.capability(cc)
    for alias in row.aliases:
        if alias in toolkit.targets:
            major, minor, _ = split(alias)
            says = f"CUDA {toolkit.cuda} calls {row.arch} sm_{alias} ({major}.{minor}); sm_{row.target} exists from {_first(table, row.target)} on"
            why = "code for the old name is not what later toolkits and drivers look for"
            return error("toolkit-target", says, source, why)
    wanted = targets_with(table, cc, target.features)
    if row.target in toolkit.targets:
        names = " or ".join(f"sm_{t}" for t in wanted)
        says = f"CUDA {toolkit.cuda} has no {names}, which {', '.join(target.features)} needs: from {_first(table, *wanted)} on"
        return error("toolkit-target", says, source)
    below = [t for t in toolkit.targets if t.isdigit() and int(t) < int(row.target)]
    above = [t for t in toolkit.targets if t.isdigit() and int(t) > int(row.target)]
    if not below:
        lowest = min(above, key=int, default=row.target)
        major, minor, _ = split(lowest)
        says = f"no target below {major}.{minor}; sm_{row.target} ends with CUDA {_last(table, row.target)}"
    else:
        says = f"no sm_{row.target} yet: from CUDA {_first(table, row.target)} on"
    return error("toolkit-target", says, source, f"{row.arch} is cc {cc}")


def _first(table: Table, *targets: str) -> str:
    has = [c for c, t in table.toolkits.items() if set(targets) & set(t.targets)]
    return has[0] if has else "no toolkit"


def _last(table: Table, target: str) -> str:
    has = [c for c, t in table.toolkits.items() if target in t.targets]
    return has[-1] if has else "no toolkit of these matrices"


def _cc_with(table: Table, targets: tuple[str, ...]) -> list[str]:
    plain = {t.rstrip("af") for t in targets}
    return [f"{row.cc} ({row.arch})" for row in table.capabilities.values() if row.target in plain]
