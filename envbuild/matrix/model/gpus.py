"""Rows about GPUs: compute capabilities and their features, products by name, dies by PCI id."""

from typing import Literal

from envbuild.matrix.model.base import Arch, Row


class Capability(Row):
    """One compute capability, `capabilities.yaml`.

    Attributes:
        arch: Pascal, Turing ...
        target: ``61``; ``aliases`` = other names of the same silicon in older toolkits
            (``101`` for 11.0).
        last_branch: last driver branch that drives it, None = none announced.
        module: kernel module it needs.
        first_driver: lowest Linux driver known to drive any product of it; its branch is a bound.
        tegra: an integrated part of a Jetson or similar; desktop code is not promised to run.
        features: names of `features.yaml` that its plain target has.
        cpu: the only CPU architecture it comes with, None = it is a card for any.
        ptx_jit: its last driver can compile the PTX of the newest toolkit that knows it.
        wsl: what the vendor says of it inside WSL 2.
        last_toolkit: its last toolkit, where that is older than these matrices.
        no_tensor_cores: products of this cc that lack the tensor cores its code assembles for.
        profiler: what still reads its counters, in words; empty = the current Nsight Compute.
    """

    cc: str
    arch: str
    target: str
    aliases: tuple[str, ...] = ()
    last_branch: int | None = None
    module: Literal["open", "proprietary", "either"]
    first_driver: str | None = None
    tegra: bool = False
    features: tuple[str, ...] = ()
    cpu: Arch | None = None
    ptx_jit: bool = True
    wsl: Literal["yes", "unsupported", "no"] = "yes"
    last_toolkit: str | None = None
    no_tensor_cores: str = ""
    profiler: str = ""


class Feature(Row):
    """One hardware feature that needs certain targets, `features.yaml`.

    Attributes:
        name: wgmma, fp8, tensor-cores ...; ``aliases`` as people type them.
        targets: real targets on which it assembles (``90a``; ``120a``, ``120f``).
        means: one sentence for people.
    """

    name: str
    aliases: tuple[str, ...] = ()
    targets: tuple[str, ...]
    means: str


class Product(Row):
    """One GPU product, `gpus.yaml`.

    Attributes:
        brand: geforce, titan, quadro, rtx, tesla, jetson ... as drivers and images use it.
        cc: None where the name alone does not tell; then ``by_die`` does.
        by_die: (die, cc) pairs where one name is several chips.
        likely: nearly every one that was sold has the first of ``by_die``.
        tensor_cores: None = follows from the cc.
        first_driver: first mainline driver that lists it; ``open_from`` = the first whose open
            modules do. Both are upper bounds.
        forward_compat: on the vendor's forward-compatibility list.
        cpu, module: where the product is narrower than its cc (Grace superchips).
    """

    name: str
    aliases: tuple[str, ...] = ()
    brand: str = ""
    cc: str | None = None
    by_die: tuple[tuple[str, str], ...] = ()
    likely: bool = False
    dies: tuple[str, ...] = ()
    pci_ids: tuple[str, ...] = ()
    tensor_cores: bool | None = None
    first_driver: str | None = None
    open_from: str | None = None
    forward_compat: bool | None = None
    cpu: Arch | None = None
    module: Literal["open", "proprietary"] | None = None


class Die(Row):
    """One die, `pci.yaml`: its cc and the PCI device ids (hex, vendor 10de) that carry it."""

    die: str
    cc: str
    pci_ids: tuple[str, ...]
