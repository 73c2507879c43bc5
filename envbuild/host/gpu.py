"""Which GPUs and which driver: NVML, else ``nvidia-smi``, else the PCI bus."""

import re

from envbuild.errors import InputError
from envbuild.host import jetson, nvml, pci, smi, windows
from envbuild.host.look import Found, Look
from envbuild.values.codec import replace
from envbuild.values.host import Driver, Gpu, Jetson, Module, Probe

_NVRM = "/proc/driver/nvidia/version"


def probe(look: Look, board: Jetson | None) -> Found[tuple[tuple[Gpu, ...], Driver | None]]:
    """GPUs and driver, each with its source; what contradicts or is missing is a failed probe."""
    answer, probes = nvml.probe(look.probing())
    if answer is None or not answer.gpus:
        other, more = smi.probe(look.probing())
        answer, probes = other or answer, probes + more
    kernel = loaded(look)
    if kernel and answer and answer.driver:
        driver: Driver | None = replace(answer.driver, module=kernel.module)
    else:
        driver = answer.driver if answer else kernel
    cards = pci.cards(look)
    if not cards and not (answer and answer.gpus):
        cards = _of_windows(look.probing())
    held = {pci.normal(card.bus): card.driver for card in cards}
    own = jetson.gpu(look, board) if board else None
    if answer and answer.gpus:
        gpus = tuple(_normal(gpu) for gpu in answer.gpus)
        gpus = tuple(replace(gpu, held_by=held.get(gpu.pci_bus or "")) for gpu in gpus)
        if own and len(gpus) == 1:
            gpus = (replace(gpus[0], cc=gpus[0].cc or own.cc),)
        left = _not_driven(gpus, cards)
        named = driver.version if driver and driver.version else "in use"
        probes += tuple(
            Probe(name="pci", ok=False, says=f"{c.bus} ({c.id}) is not driven by driver {named}")
            for c in left
        )
        gpus += tuple(map(_on_bus, left))
    elif own:
        gpus = (own,)
    else:
        gpus = tuple(map(_on_bus, cards))
        probes += _no_driver(cards, driver)
    unknown = [gpu.name or gpu.pci_id or "GPU" for gpu in gpus if gpu.cc is None]
    if unknown:
        text = f"compute capability not known: {', '.join(unknown)}"
        probes += (Probe(name="cc", ok=False, says=text),)
    return (gpus, driver), probes


def loaded(look: Look) -> Driver | None:
    """The loaded kernel module; None where there is none, or it is of another kind (WSL)."""
    return parse_nvrm(look.text(_NVRM) or "")


def parse_nvrm(text: str) -> Driver | None:
    """The loaded kernel module, from ``/proc/driver/nvidia/version``.

    >>> parse_nvrm("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release")
    Driver(version='580.95.05', cuda=None, module='open', source='/proc/driver/nvidia/version')
    """
    match = re.search(r"NVRM version:.{0,40}?(Open )?Kernel Module.{0,20}?\s(\d+(\.\d+)+)", text)
    if match is None:
        return None
    module: Module = "open" if match[1] else "proprietary"
    return Driver(version=match[2], module=module, source=_NVRM)


def _of_windows(look: Look) -> tuple[pci.Card, ...]:
    """Cards of the Windows around us: its NVIDIA devices that the matrices know as GPUs."""
    from envbuild.matrix import names

    found = (device for device in windows.cards(look) if names.die_of_pci(device))
    return tuple(pci.Card("", device, None) for device in found)


def _on_bus(card: pci.Card) -> Gpu:
    """A card that only the bus shows; ``pci+nvidia``: the driver holds it but did not answer."""
    source = "pci+nvidia" if card.driver == "nvidia" else "pci"
    return _normal(Gpu(pci_bus=card.bus, pci_id=card.id, source=source, held_by=card.driver))


def _normal(gpu: Gpu) -> Gpu:
    """One spelling of the address; name and cc from the matrices where the probe had none."""
    gpu = replace(gpu, pci_bus=pci.normal(gpu.pci_bus) or None)
    if gpu.cc is not None and gpu.name is not None:
        return gpu
    from envbuild.matrix import names

    die = names.die_of_pci(gpu.pci_id) if gpu.pci_id else None
    if die is not None:
        return replace(gpu, name=gpu.name or _card_name(gpu, die.die), cc=gpu.cc or die.cc)
    try:
        ccs = names.ccs(names.product(gpu.name)) if gpu.name else ()
    except InputError:
        ccs = ()
    # A name that was sold with several chips tells nothing.
    return replace(gpu, cc=gpu.cc or (ccs[0] if len(ccs) == 1 else None))


def _card_name(gpu: Gpu, die: str) -> str:
    """The one product that has this device id, else the die."""
    from envbuild.matrix.load import load_names

    device = (gpu.pci_id or "").rpartition(":")[2]
    products = [row.name for row in load_names().products if device in row.pci_ids]
    return f"NVIDIA {products[0] if len(products) == 1 else die}"


def _no_driver(cards: tuple[pci.Card, ...], driver: Driver | None) -> tuple[Probe, ...]:
    """Why nothing drives the cards."""
    holders = sorted({c.driver for c in cards if c.driver and c.driver != "nvidia"})
    if holders:
        text = f"the card is held by the kernel driver {', '.join(holders)}"
    elif cards and driver is None:
        text = "no NVIDIA driver is loaded"
    else:
        return ()
    return (Probe(name="driver", ok=False, says=text),)


def _not_driven(gpus: tuple[Gpu, ...], cards: tuple[pci.Card, ...]) -> tuple[pci.Card, ...]:
    """Cards on the bus that the driver does not show: too old for it, or the wrong module.

    Only the kernel's own verdict counts: in a container the bus shows cards that were not given.
    """
    seen = {gpu.pci_bus for gpu in gpus}
    if not seen - {None}:
        return ()
    return tuple(c for c in cards if pci.normal(c.bus) not in seen and c.driver != "nvidia")
