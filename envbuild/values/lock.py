"""The lock: every byte a build takes from outside, by hash; never rendered output."""

from typing import Literal

from envbuild.values.codec import Pairs, Value
from envbuild.values.plan import MatrixId
from envbuild.values.request import Request


class LockedBase(Value):
    """Base image: canonical reference, digest of the platform manifest, config digest if known."""

    ref: str
    digest: str
    platform: str


class AptPackage(Value):
    """One package of the closure: ``name=version`` for this architecture.

    Attributes:
        sha256: hash (hex) of its file, as the signed index has it; empty in older locks.
        archive: name of the vendor's repository that has it, empty = the distribution's own.
    """

    name: str
    version: str
    arch: str
    sha256: str = ""
    archive: str = ""


class Wheel(Value):
    """One wheel: file name, sha256 (hex) and the *name* of the index it came from."""

    name: str
    version: str
    file: str
    sha256: str
    index: str


class Key(Value):
    """The key that signs a vendor's repository: fingerprint, file in it, sha256 (hex) of that."""

    fingerprint: str
    file: str
    sha256: str


class Part(Value):
    """One archive file of the toolkit: path below the source's address, sha256 (hex), bytes."""

    name: str
    version: str
    path: str
    sha256: str
    size: int | None = None


class Recipe(Value):
    """The same toolkit from the vendor's own archives, for the day when the base's tag is deleted.

    Attributes:
        source: ``redist`` or ``apt``.
        cuda: release that it gives.
        request: what to ask for to get that plan.
    """

    source: Literal["redist", "apt"]
    cuda: str
    request: Request


class Kept(Value):
    """One file of a bundle: path in it, sha256 (hex), bytes."""

    path: str
    sha256: str
    size: int


class LockBundle(Value):
    """Every byte that a build from one lock takes from outside, in a folder.

    Attributes:
        lock: digest of the lock.
        files: all of it, but for this manifest.
    """

    schema: Literal["envbuild/lock-bundle/1"] = "envbuild/lock-bundle/1"
    lock: str
    platform: str
    files: tuple[Kept, ...]


class Lock(Value):
    """What ``render`` and ``build`` take instead of asking the world again.

    Attributes:
        plan: digest of the plan it was made for.
        runtime: base of the runtime stage where that is another image.
        python: interpreter version wheels were chosen for, None without wheels.
        apt_index: ``suite component ...`` lines the closure was resolved against.
        snapshot: moment (``20261201T000000Z``) of the distribution's archive, where the packages
            were resolved at a snapshot service: its address with that moment serves them again.
        key: what signs the vendor's repository, where packages come from one.
        parts: the toolkit's archive files, in the order in which they are unpacked.
        index_urls: public address of each framework index that wheels came from, by its name; the
            default index is a setting of the network, and in no lock.
        recipe: how the toolkit is had without the vendor's tag, where the base is one.
        templates: template name to sha256.
        probes: probe name to sha256.
        seal: digest of all the rest; empty in older locks.
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
    snapshot: str = ""
    wheels: tuple[Wheel, ...] = ()
    key: Key | None = None
    parts: tuple[Part, ...] = ()
    index_urls: Pairs = Pairs()
    recipe: Recipe | None = None
    templates: Pairs = Pairs()
    probes: Pairs = Pairs()
    seal: str = ""
