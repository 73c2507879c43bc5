"""The target: each fact of a request with one value. Rules see nothing else."""

from typing import Literal

from envbuild.host.access import Containers
from envbuild.host.fabric import Fabric
from envbuild.planner.ranges import Range
from envbuild.planner.tools import Tools
from envbuild.values.codec import Value, replace
from envbuild.values.plan import Provenance
from envbuild.values.request import Flavour, Request, Source, Where

COMPILED = frozenset({"extension", "arch-specific"})
"""Features that always mean own code; `Target.kernels` are those that follow from the rows."""

COMPANIONS = ("torchvision", "torchaudio")
"""Packages that are built for one version of torch each, and bring torch; fields of `TorchPair`."""

PINNED = ("triton", "cudnn", "nccl")
"""Packages that torch's wheels require in one version each; fields of `TorchBuild`, where known."""

Platform = Literal["linux", "sbsa", "wsl2", "jetson-l4t", "jetson-sbsa"]


class Card(Value):
    """One kind of GPU asked for. All but the cc is None where only the cc was given.

    ``mig``: its instances, as the machine shows them; () = it is partitioned and has none.
    ``vgpu``: a slice of it in a virtual machine; its name keeps the profile.
    ``unlikely``: other (die, cc) that few cards of this name have, where the name alone is known.
    ``driven``: the machine's own driver was seen to hold it.
    """

    cc: str
    name: str | None = None
    brand: str | None = None
    tensor_cores: bool | None = None
    forward_compat: bool | None = None
    first_driver: str | None = None
    cpu: str | None = None
    module: str | None = None
    note: str = ""
    mig: tuple[str, ...] | None = None
    vgpu: bool = False
    unlikely: tuple[tuple[str, str], ...] = ()
    driven: bool = False


class Wanted(Value):
    """A package that is wished for; range None = any version."""

    name: str
    range: Range | None = None

    def __str__(self) -> str:
        if self.range is None:
            return self.name
        bare = self.range.text[:1].isdigit()
        return f"{self.name}{'==' if bare else ''}{self.range.text}"


class Target(Value):
    """What a plan is made for.

    Attributes:
        cards: one entry a kind of GPU, sorted by cc; empty = no cc, or ``every_cc``.
        every_cc: all targets that the planned toolkit has (``--cc all``).
        driver: version, a fact; on WSL that of the Windows driver.
        driver_cuda: CUDA level of that driver.
        claim: a higher level that the machine's libraries gave, and its driver does not have.
        unread: a driver is there, and its version could not be read.
        away: its cards are held for virtual machines (vfio-pci), not for itself.
        inside: the kind of container that the machine itself is, None = none.
        glibc, gcc, python: of this machine; they count for ``where: host`` alone.
        l4t: the row of `jetson.yaml` that fits, by its key.
        access: GPU access mode of the engine, ``cdi`` where none is known.
        engine_access: (engine, access mode) of each engine that answers.
        docker, container_toolkit: their versions, where they are known.
        containers: what the machine runs containers with, None = nobody looked.
        fabric: what joins its GPUs, where NVSwitches do and they were not seen to be joined.
        tools: what it has to compile with, None = nobody looked.
        kernels: features that only kernels of one's own can use: no plain target has them.
        from_source: packages whose source is compiled with nvcc: no index has a wheel.
        undriven: cards of the machine that only its bus shows, beside others that are driven.
        as_of: the date that counts, empty = none does, in the search for conflicts alone.
        arch: None = any, in the search for conflicts alone.
        unseen: a machine was looked at that shows no GPU, and flags name one.
        system: id of the system of the machine that was looked at, which may not be `host_os`.
        declared: nothing on this machine was looked at.
        machine: flags that give the machine again (``--host FILE``), () = the one at hand; None =
            suggested commands spell its facts out.
        beside: other machines that the same image must serve, each with its own driver.
    """

    cards: tuple[Card, ...] = ()
    every_cc: bool = False
    driver: str | None = None
    driver_cuda: str | None = None
    claim: str | None = None
    unread: bool = False
    away: bool = False
    inside: str | None = None
    module: str | None = None
    cuda: Range | None = None
    torch: Wanted | None = None
    packages: tuple[Wanted, ...] = ()
    features: tuple[str, ...] = ()
    base_os: str | None = None
    arch: str | None = "x86_64"
    platform: Platform = "linux"
    l4t: str | None = None
    glibc: str | None = None
    gcc: str | None = None
    python: str | None = None
    host_os: str | None = None
    where: Where = "image"
    flavour: Flavour | None = None
    source: Source | None = None
    as_of: str = ""
    split: bool = False
    access: str = "cdi"
    engine_access: tuple[tuple[str, str], ...] = ()
    docker: str | None = None
    container_toolkit: str | None = None
    containers: Containers | None = None
    fabric: Fabric | None = None
    tools: Tools | None = None
    kernels: tuple[str, ...] = ()
    from_source: tuple[str, ...] = ()
    undriven: tuple[Card, ...] = ()
    unseen: bool = False
    system: str | None = None
    declared: bool = True
    machine: tuple[str, ...] | None = None
    request: Request = Request()
    provenance: tuple[Provenance, ...] = ()
    beside: tuple["Target", ...] = ()

    @property
    def machines(self) -> "tuple[Target, ...]":
        """Itself, and those beside it: a place or build must serve each of them."""
        return (self, *self.beside)

    @property
    def cc(self) -> tuple[str, ...]:
        """The compute capabilities, each once, ascending."""
        return tuple(dict.fromkeys(card.cc for card in self.cards))

    @property
    def compiled(self) -> tuple[str, ...]:
        """The wishes that mean: something is compiled for the GPU, also beside a framework."""
        features = [f for f in self.features if f in COMPILED or f in self.kernels]
        packages = [p.name for p in self.packages if p.name in self.from_source]
        return (*features, *packages)

    @property
    def needs_compiler(self) -> bool:
        """Something is compiled for the GPU: the image (or host) must have nvcc."""
        if self.compiled:
            return True
        if self.flavour is not None and self.where == "image":
            return self.flavour == "devel"
        return self.torch is None

    @property
    def windows(self) -> bool:
        """The driver is that of Windows, whose versions are numbered differently."""
        return self.platform == "wsl2"

    @property
    def on_host(self) -> bool:
        """The plan is for this machine itself."""
        return self.where == "host"

    @property
    def image_flavour(self) -> Flavour:
        """Flavour of a vendor image: framework wheels need no more than its base."""
        return self.flavour or ("devel" if self.needs_compiler else "base")


class Part(Value):
    """One thing a request asks for: a wish that can be dropped, or a fact that cannot."""

    kind: Literal["wish", "fact"]
    field: str
    value: str
    says: str


def parts(target: Target) -> tuple[Part, ...]:
    """Wishes, then facts, in a fixed order; the toolkit source is a preference and not here."""
    found = []
    if target.cuda is not None:
        found.append(_wish("cuda", target.cuda.text, f"--cuda {target.cuda.text}"))
    if target.torch is not None:
        found.append(_wish("torch", str(target.torch), _torch_says(target, target.torch)))
    found += [_wish("packages", str(p), f"--with {p}") for p in target.packages]
    found += [_wish("features", name, f"--feature {name}") for name in target.features]
    for field, value in (("base_os", target.base_os), ("flavour", target.flavour)):
        if value is not None:
            found.append(_wish(field, value, f"--{field.replace('_', '-')} {value}"))
    if target.where == "host":
        found.append(_wish("where", "host", "--where host"))
    if target.as_of and target.request.as_of is not None:
        found.append(_wish("as_of", target.as_of, f"--as-of {target.as_of}"))
    found += [_fact("cards", cc, _card_says(target, cc)) for cc in target.cc]
    if target.driver is not None:
        flavour = f" with its {target.module} kernel modules" if target.module is not None else ""
        found.append(_fact("driver", target.driver, f"driver {target.driver}{flavour}"))
    if target.platform == "wsl2":
        found.append(_fact("platform", "wsl2", "WSL 2"))
    if target.l4t is not None:
        found.append(_fact("l4t", target.l4t, f"L4T {target.l4t}"))
    if target.arch is not None:
        found.append(_fact("arch", target.arch, f"an {target.arch} machine"))
    if target.where == "host" and target.glibc is not None:
        found.append(_fact("glibc", target.glibc, f"glibc {target.glibc}"))
    return tuple(found)


def without(target: Target, dropped: tuple[Part, ...]) -> Target:
    """The target when these parts were not asked for."""
    for part in dropped:
        target = replace(target, **_change(target, part))
    return target


def _change(target: Target, part: Part) -> dict[str, object]:
    if part.field == "cards":
        return {"cards": tuple(c for c in target.cards if c.cc != part.value)}
    if part.field == "torch":
        # Its companions cannot stay without it.
        kept = tuple(p for p in target.packages if p.name not in COMPANIONS)
        return {"torch": None, "packages": kept}
    if part.field == "packages":
        return {"packages": tuple(p for p in target.packages if str(p) != part.value)}
    if part.field == "features":
        return {"features": tuple(f for f in target.features if f != part.value)}
    if part.field == "driver":
        cards = tuple(replace(c, driven=False) for c in target.cards)
        return {"driver": None, "driver_cuda": None, "module": None, "cards": cards}
    if part.field == "l4t":
        return {"l4t": None, "platform": "linux", "driver_cuda": None}
    return {part.field: {"where": "image", "platform": "linux", "as_of": ""}.get(part.field)}


def _wish(field: str, value: str, says: str) -> Part:
    return Part(kind="wish", field=field, value=value, says=says)


def _fact(field: str, value: str, says: str) -> Part:
    return Part(kind="fact", field=field, value=value, says=says)


def _torch_says(target: Target, torch: Wanted) -> str:
    """The flag that asks for it, or the companion that brings it where nobody typed it."""
    if torch.range is not None:
        return f"--torch {torch.range.text.removeprefix('==')}"
    bring = [p for p in target.packages if p.name in COMPANIONS]
    if bring and all(wish.name.lower() != "torch" for wish in target.request.packages):
        return f"torch (which --with {bring[0].name} brings)"
    return "--with torch"


def _card_says(target: Target, cc: str) -> str:
    names = [card.name for card in target.cards if card.cc == cc and card.name]
    return f"cc {cc} ({', '.join(dict.fromkeys(names))})" if names else f"cc {cc}"
