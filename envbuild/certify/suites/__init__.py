"""The suites: plain modules in one dict, each with ``steps``-functions and a pure ``judge``."""

from types import ModuleType

from envbuild.certify.suites import smoke, toolchain

SUITES: dict[str, ModuleType] = {"toolchain": toolchain, "smoke": smoke}

# Each needs what those before it have shown; the ones after it are side rooms or later chapters.
CHAIN = ("toolchain", "smoke")
GPU = frozenset({"smoke"})


def before(require: tuple[str, ...]) -> tuple[str, ...]:
    """The suites of the chain that the last required one of it builds on."""
    last = max((CHAIN.index(name) for name in require if name in CHAIN), default=0)
    return CHAIN[:last]
