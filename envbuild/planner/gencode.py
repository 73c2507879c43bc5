"""Targets: which one a compute capability compiles to, whose code runs where, and the flags."""

from functools import lru_cache

import msgspec

from envbuild.matrix.model import Capability, Toolkit
from envbuild.planner import drivers
from envbuild.planner.ranges import numbers
from envbuild.planner.table import Table
from envbuild.values.plan import Flags


class Code(msgspec.Struct, frozen=True):
    """One compute capability's code: its real target, and whether its PTX is kept."""

    cc: str
    target: str
    ptx: bool


@lru_cache(maxsize=256)
def split(target: str) -> tuple[int, int, str]:
    """``120f`` as (12, 0, 'f'): major, minor, suffix."""
    digits = target.rstrip("af")
    return int(digits[:-1]), int(digits[-1]), target[len(digits) :]


def cc_of_target(target: str) -> str:
    """``90a`` as ``9.0``."""
    major, minor, _ = split(target)
    return f"{major}.{minor}"


def real_target(table: Table, toolkit: Toolkit, cc: str, features: tuple[str, ...]) -> str | None:
    """The target that the toolkit assembles for this cc with these features, None = none.

    The plain target if it will do; else 'a' (this chip only), which every toolkit with such
    targets has, before 'f' (the family).
    """
    for target in targets_with(table, cc, features):
        if target in toolkit.targets:
            return target
    return None


def targets_with(table: Table, cc: str, features: tuple[str, ...]) -> tuple[str, ...]:
    """Targets of this cc that have all features, whatever the toolkit; the plain one first."""
    rows = [table.features[name] for name in features if name in table.features]
    plain = table.capability(cc).target
    return tuple(
        target
        for target in (plain, f"{plain}a", f"{plain}f")
        if all(target in row.targets for row in rows)
    )


def runs_on(target: str, capability: Capability, table: Table) -> bool:
    """SASS of ``target`` runs on this cc: same major, lower or equal minor.

    'a' code runs on its own chip alone, 'f' code within its family; code for cards is not
    promised to run on integrated parts, nor theirs on cards.
    """
    major, minor, suffix = split(target)
    at = numbers(capability.cc)
    if suffix == "a" or (major, minor) == at:
        return (major, minor) == at
    code = table.capabilities.get(f"{major}.{minor}")
    same_kind = code is None or code.tegra == capability.tegra
    return major == at[0] and minor <= at[1] and same_kind


def codes(
    table: Table, toolkit: Toolkit, cc: tuple[str, ...], features: tuple[str, ...]
) -> tuple[Code, ...]:
    """SASS for each cc, PTX for the highest where its last driver can compile it.

    The PTX of 'a' and 'f' targets does not run on later cards and is left out.
    """
    made = []
    for one in cc:
        target = real_target(table, toolkit, one, features)
        if target is not None:
            last = one == cc[-1]
            made.append(Code(one, target, last and target.isdigit() and _jit(table, one, toolkit)))
    return tuple(made)


def every_code(table: Table, toolkit: Toolkit) -> tuple[Code, ...]:
    """All plain targets of the toolkit (``--cc all``), PTX of the highest."""
    plain = sorted((t for t in toolkit.targets if t.isdigit()), key=int)
    return tuple(
        Code(cc_of_target(t), t, t == plain[-1] and _jit(table, cc_of_target(t), toolkit))
        for t in plain
    )


def _jit(table: Table, cc: str, toolkit: Toolkit) -> bool:
    row = table.capabilities.get(cc)
    return row is None or drivers.last_compiles(table, row, toolkit.cuda)


def gencode(made: tuple[Code, ...]) -> tuple[str, ...]:
    """``arch=compute_61,code=[sm_61,compute_61]``, one entry a target."""
    return tuple(
        f"arch=compute_{c.target},code=[sm_{c.target},compute_{c.target}]"
        if c.ptx
        else f"arch=compute_{c.target},code=sm_{c.target}"
        for c in made
    )


def flags(made: tuple[Code, ...]) -> Flags:
    """The same in the three spellings that people need."""
    return Flags(
        nvcc=" ".join(f"-gencode {entry}" for entry in gencode(made)),
        cmake=";".join(c.target if c.ptx else f"{c.target}-real" for c in made),
        torch=";".join(_torch_name(c) for c in made),
    )


def _torch_name(code: Code) -> str:
    major, minor, suffix = split(code.target)
    return f"{major}.{minor}{suffix}{'+PTX' if code.ptx else ''}"
