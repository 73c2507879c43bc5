"""The GPUs that are asked for, or that a machine holds, as cards of the target."""

import re
from typing import TYPE_CHECKING, NoReturn

from envbuild.errors import InputError
from envbuild.planner.ranges import numbers
from envbuild.planner.table import Table, remember
from envbuild.planner.target import Card
from envbuild.values.codec import replace
from envbuild.values.host import Gpu, Host
from envbuild.values.request import Request

if TYPE_CHECKING:
    from envbuild.matrix.model import Product


def asked_cards(request: Request, host: Host | None, table: Table) -> tuple[tuple[Card, ...], str]:
    """The cards by ascending cc, and ``flag`` where flags named them, else the empty text.

    Of a machine the cards that its driver holds, or all where it holds none.

    Raises:
        InputError: a cc or a name that the matrices do not know, or that is several chips.
    """
    if "all" in request.cc:
        if len(request.cc) > 1 or request.gpus:
            what = "--cc all stands for every target and takes no other cc or GPU beside it"
            raise InputError(what, fix="give --cc all alone, or list the cc")
        return (), "flag"
    cards = [Card(cc=known_cc(text, "--cc", table)) for text in request.cc]
    cards += [_named(text, table) for text in request.gpus]
    origin = "flag" if cards else ""
    if not cards and host is not None:
        held = _driven(host)
        # What drives them is the driver in hand: with another from a flag that is not known.
        known = held and host.driver is not None and request.driver is None
        cards = [replace(card, driven=bool(known)) for card in _detected(held or host.gpus, table)]
    return _sorted(cards), origin


def undriven_cards(request: Request, host: Host | None, table: Table) -> tuple[Card, ...]:
    """Cards that only the bus shows, beside others that the machine's driver holds.

    One that vfio-pci holds is meant for a virtual machine, and no card of this one.
    """
    asked = request.cc or request.gpus
    if asked or host is None or not _driven(host):
        return ()
    return _sorted(
        _detected(
            tuple(g for g in host.gpus if g.source == "pci" and g.held_by != "vfio-pci"), table
        )
    )


def _driven(host: Host) -> tuple[Gpu, ...]:
    return tuple(gpu for gpu in host.gpus if gpu.source != "pci")


def _sorted(cards: list[Card]) -> tuple[Card, ...]:
    return tuple(sorted(dict.fromkeys(cards), key=lambda c: (numbers(c.cc), c.name or "")))


def known_cc(text: str, flag: str, table: Table) -> str:
    """``6.1``, ``61`` or ``sm_61`` as ``6.1``, if the matrices know it.

    Raises:
        InputError: they do not; names the nearest.
    """
    known = table.capabilities
    word = text.strip().lower().removeprefix("sm_").removeprefix("compute_")
    suffix = word[-1:] if word[-1:] in {"a", "f"} else ""
    word = word.removesuffix(suffix)
    digits = word.replace(".", "", 1)
    what = f"{flag} {text[:40]!r} is not a compute capability of these matrices"
    if not (digits.isascii() and digits.isdigit() and len(digits) < 5):
        fix = "write it like 6.1, 61 or sm_61, and several as 6.1,8.6; `envbuild detect` reads them"
        raise InputError(what, fix=fix)
    row = next((c for c in known.values() if word in (c.cc, c.target, *c.aliases)), None)
    if row is None and word == f"{digits[:-1]}.{digits[-1:]}":
        # A name that an older toolkit gave the chip: 10.1 was sm_101, and is 11.0.
        row = next((c for c in known.values() if digits in c.aliases), None)
    if row is None:
        raise InputError(what, fix=f"nearest: {', '.join(_nearest(digits, list(known)))}")
    if suffix:
        what = f"{flag} {text} is a target, not a compute capability"
        fix = f"--cc {row.cc} --feature arch-specific plans such a target"
        raise InputError(what, fix=fix)
    return row.cc


def _nearest(target: str, known: list[str]) -> list[str]:
    """The nearest as a number (9.9 for 99) and those that begin alike, ascending."""
    at = int(target) if len(target) > 1 else int(target) * 10
    by_size = sorted(known, key=lambda cc: abs(int(cc.replace(".", "")) - at))[:3]
    alike = [cc for cc in known if cc[0] == target[0] and len(cc) == 3][:3]
    return sorted({*by_size, *alike}, key=numbers)


def _named(text: str, table: Table) -> Card:
    """The card of a name or PCI id; remembered, since a fleet says few of them often."""
    known = table.memo.get(("gpu", text))
    if isinstance(known, Card):
        return known
    made = _product(text, table)
    remember(table, ("gpu", text), made)
    return made


def _product(text: str, table: Table) -> Card:
    from envbuild.matrix import names

    if re.fullmatch(r"(0x)?10de:(0x)?[0-9a-f]{4}", text.strip(), re.ASCII | re.IGNORECASE):
        return _of_pci(text.strip().lower(), table)
    rows = names.product(text)
    cc = names.likely(rows)
    if cc is None:
        chips: dict[str, list[str]] = {}
        for row in rows:
            for cc, what in ((cc, die) for die, cc in row.by_die):
                chips.setdefault(cc, []).append(what)
            if row.cc is not None:
                chips.setdefault(row.cc, []).append(row.name)
        several = " or ".join(f"{cc} ({', '.join(who)})" for cc, who in chips.items())
        problem = f"--gpu {text[:60]!r} is not one chip: {several}"
        raise InputError(problem, fix=names.ASK)
    if cc not in table.capabilities:
        what = f"{rows[0].name} is cc {cc}, which these matrices do not know"
        raise InputError(what, fix="give --cc, or add the row with ENVBUILD_MATRICES")
    slice = re.search(r"\bmig (\d+g\.\d+gb\S*)", text, re.ASCII | re.IGNORECASE)
    mig = (slice[1],) if slice else None
    return replace(_virtual(_card(cc, rows), text.strip()), mig=mig)


def _of_pci(text: str, table: Table) -> Card:
    """The card of a PCI id, which tells chips of one name apart.

    Raises:
        InputError: no die of these matrices has it.
    """
    from envbuild.matrix import names

    die = names.die_of_pci(text)
    if die is None:
        what = f"--gpu {text!r} is no PCI id of these matrices"
        raise InputError(what, fix="give --cc")
    cc = known_cc(die.cc, "the GPU's cc", table)
    rows = names.of_pci(text)
    # A name that is several chips would not lead back to this one.
    plain = tuple(row for row in rows if row.cc == cc)
    return _card(cc, plain) if plain else Card(cc=cc)


def _card(cc: str, rows: "tuple[Product, ...]") -> Card:
    """What the rows agree on; several products of one name agree on little but the cc."""
    row = rows[0]
    if len(rows) > 1:
        return Card(cc=cc, name=row.name)
    return Card(
        cc=cc,
        name=row.name,
        brand=row.brand or None,
        tensor_cores=row.tensor_cores,
        forward_compat=row.forward_compat,
        first_driver=row.first_driver,
        cpu=row.cpu,
        module=row.module,
        note=row.note,
        unlikely=row.by_die[1:] if row.likely else (),
    )


def cpu_of(table: Table, card: Card) -> str | None:
    """The only CPU architecture that the card comes with; None = any."""
    return card.cpu or table.capability(card.cc).cpu


def module_of(table: Table, card: Card) -> str:
    """The kernel modules that the card needs: open, proprietary or either."""
    return card.module or table.capability(card.cc).module


def is_vgpu(name: str) -> bool:
    """``NVIDIA A10-24Q``, ``GRID A100D-10C``: a profile ends in its memory and series.

    >>> is_vgpu("NVIDIA A10-24Q"), is_vgpu("NVIDIA A100-SXM4-40GB"), is_vgpu("GRID T4-2B4")
    (True, False, True)
    """
    profile = name.rpartition("-")[2].rstrip("4") if "-" in name else ""
    return profile[-1:] in set("ABCQ") and profile[:-1].isdigit()


def _virtual(card: Card, name: str) -> Card:
    """The card as a virtual machine sees it, where the name has a profile."""
    return replace(card, name=name, vgpu=True) if is_vgpu(name) else card


def _detected(gpus: tuple[Gpu, ...], table: Table) -> list[Card]:
    return [card for gpu in gpus if (card := card_of(gpu, table)) is not None]


def card_of(gpu: Gpu, table: Table) -> Card | None:
    """A GPU of a machine: its measured cc wins over its PCI id, that over its name."""
    from envbuild.matrix import names

    rows: tuple[Product, ...] = ()
    if gpu.name:
        try:
            rows = names.product(gpu.name)
        except InputError:
            rows = ()
    die = names.die_of_pci(gpu.pci_id) if gpu.pci_id else None
    seen = gpu.cc or (die.cc if die else None)
    cc = seen or names.likely(rows)
    if cc is None:
        return None
    cc = known_cc(cc, "the GPU's cc", table)
    fitting = tuple(row for row in rows if row.cc in {None, cc})
    card = _card(cc, fitting) if fitting else _of_bus(cc, gpu)
    card = replace(card, unlikely=()) if seen is not None else card
    mig = gpu.mig.instances if gpu.mig is not None and gpu.mig.enabled else None
    return replace(_virtual(card, gpu.name or ""), mig=mig)


def _of_bus(cc: str, gpu: Gpu) -> Card:
    """A GPU without a name that is known: what all products of its PCI id agree on."""
    from envbuild.matrix import names

    rows = names.of_pci(gpu.pci_id) if gpu.pci_id else ()
    modules, cpus = {row.module for row in rows}, {row.cpu for row in rows}
    return Card(
        cc=cc,
        name=gpu.name,
        module=modules.pop() if len(modules) == 1 else None,
        cpu=cpus.pop() if len(cpus) == 1 else None,
    )


def unknown(flag: str, text: str, known: tuple[str, ...]) -> NoReturn:
    """A word outside its list.

    Raises:
        InputError: always; offers the nearest words, else all.
    """
    from difflib import get_close_matches

    near = get_close_matches(text.strip().lower()[:60], known, 3, 0.5)
    fix = f"nearest: {', '.join(near)}" if near else f"one of {', '.join(sorted(set(known)))}"
    what = f"{flag} {text[:60]!r} is not known"
    raise InputError(what, fix=fix)
