"""The lock: every byte a build takes from outside, by hash; never rendered output."""

from typing import Literal

from envbuild.values.codec import Pairs, Value
from envbuild.values.plan import MatrixId


class LockedBase(Value):
    """Base image: canonical reference, digest of the platform manifest, config digest if known."""

    ref: str
    digest: str
    platform: str


class AptPackage(Value):
    """One package of the closure: ``name=version`` for this architecture."""

    name: str
    version: str
    arch: str


class Wheel(Value):
    """One wheel: file name, sha256 (hex) and the *name* of the index it came from."""

    name: str
    version: str
    file: str
    sha256: str
    index: str


class Lock(Value):
    """What ``render`` and ``build`` take instead of asking the world again.

    Attributes:
        plan: digest of the plan it was made for.
        runtime: base of the runtime stage where that is another image.
        python: interpreter version wheels were chosen for, None without wheels.
        apt_index: ``suite component ...`` lines the closure was resolved against.
        templates: template name to sha256.
        probes: probe name to sha256.
    """

    schema: Literal["envbuild/lock/1"] = "envbuild/lock/1"
    tool: str
    plan: str
    matrix: MatrixId
    platform: str
    base: LockedBase | None = None
    runtime: LockedBase | None = None
    python: str | None = None
    apt_index: tuple[str, ...] = ()
    apt: tuple[AptPackage, ...] = ()
    wheels: tuple[Wheel, ...] = ()
    templates: Pairs = Pairs()
    probes: Pairs = Pairs()
