"""The suites: plain modules in one dict, each held to one form.

Every suite has a pure ``judge(seen) -> tuple[Check, ...]``. Those after `smoke` also have
``next_work(bench, seen) -> Work | None``: the container run that they need next, given what was
seen so far; None once they have seen enough.
"""

from types import ModuleType

from envbuild.certify.suites import (
    correct,
    cuda_python,
    cupy,
    fast,
    multi,
    numba,
    smoke,
    toolchain,
    tools,
    torch,
    triton,
)
from envbuild.errors import InputError

SUITES: dict[str, ModuleType] = {
    "toolchain": toolchain,
    "smoke": smoke,
    "correct": correct,
    "fast": fast,
    "torch": torch,
    "numba": numba,
    "cupy": cupy,
    "triton": triton,
    "cuda-python": cuda_python,
    "tools": tools,
    "multi": multi,
}

# Each needs what those before it have shown; all others are side rooms off `smoke`.
CHAIN = ("toolchain", "smoke", "correct", "fast")
GPU = frozenset(SUITES) - {"toolchain"}


def check_known(names: tuple[str, ...]) -> None:
    """Refuse a name that is no suite.

    Raises:
        InputError: there is no such suite.
    """
    if unknown := [name for name in names if name not in SUITES]:
        what = f"there is no suite {', '.join(unknown)}"
        raise InputError(what, fix=f"one of {', '.join(SUITES)}")


def before(require: tuple[str, ...]) -> tuple[str, ...]:
    """The suites of the chain that the required ones build on."""
    last = max((_place(name) for name in require), default=0)
    return tuple(name for name in CHAIN[:last] if name in SUITES)


def _place(name: str) -> int:
    return CHAIN.index(name) if name in CHAIN else CHAIN.index("smoke") + 1
