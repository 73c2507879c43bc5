"""From what people type to rows: product names, PCI ids, compute capabilities."""

import os
import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from itertools import chain

from envbuild.errors import InputError
from envbuild.matrix.load import OVERLAY, load, load_names
from envbuild.matrix.model import Die, Product

# What people leave out or add around the part of a name that tells products apart.
_BRANDS = ("geforce", "tesla", "quadro", "jetson")
_SERIES = ("gtx", "rtx", "gt")
_NOISE = re.compile(
    r"\((?:tm|r|c)\)|[™®©]|\bmig .*"
    r"|\b(?:graphics card|graphics|gpu|video card|generation|with|design|developer kit|dev ?kit)\b"
)
# A virtual GPU is called after its card: letters for memory and form, the slices of a MIG part,
# gigabytes, the kind: "GRID V100DX-32Q", "NVIDIA A100-4-20C".
_VIRTUAL = re.compile(
    r"(?:nvidia )?(?:grid )?(.+?)(?:dx|x[lm]|[dlx]| dc)?(?:-\d)?-\d{1,3}[abcq]", re.IGNORECASE
)
ASK = (
    "give the PCI id that `lspci -nn -d 10de:` shows, like --gpu 10de:1d01, or the compute "
    "capability with --cc, which `nvidia-smi --query-gpu=compute_cap --format=csv` prints"
)
"""What helps where a name does not: the first needs no driver."""
_MOBILE = re.compile(r"\b(?:laptop|embedded)\b", re.IGNORECASE)
_FORM = re.compile(r"\b(?:\d+ ?gi?b|sxm\d?|pcie|nvl\d*|hbm\d\w?|fhhl|dgxs|oem|desktop)\b")


def cc_of(text: str) -> str:
    """The compute capability that a text means.

    Args:
        text: ``6.1``, ``61``, ``sm_61``, ``compute_61``, ``sm_90a``, ``120f``.

    Returns:
        ``major.minor``; a name that an older toolkit gave a chip is turned into its own
        (``sm_101`` is 11.0).

    Raises:
        InputError: no such compute capability; names the nearest.
    """
    word = text.strip().lower()
    found = re.fullmatch(r"(?:(?:sm|compute|cc)[_ -]?)?(?:(\d+)\.(\d)|(\d{2,3}))([af]?)", word)
    rows = load().capabilities
    if found:
        target = found[3] or found[1] + found[2]
        for row in rows:
            if target == row.target or target in row.aliases:
                return row.cc
    known = sorted((row.cc for row in rows), key=_number)
    digits = re.sub(r"\D", "", word)
    near = _nearest_cc(digits, known) if digits else known
    what = f"{text!r} is not a compute capability"
    raise InputError(what, why=f"nearest: {', '.join(near)}", fix="write it as 8.6, 86 or sm_86")


def product(text: str) -> tuple[Product, ...]:
    """The rows that a product name means.

    Several rows come back where the name fits several products (``RTX 6000``), and a row has
    ``by_die`` where one name was sold with several chips: the caller has to look at all of them.

    Raises:
        InputError: no product has a name like this; offers the nearest names.
    """
    lookup = _lookup()
    # What stands in brackets tells few products apart: "GTX 1080 Ti (Pascal)".
    spoken = [text, re.sub(r"\(.*?\)", "", text)]
    if virtual := _VIRTUAL.fullmatch(text.strip()):
        spoken.append(virtual[1])
    for key in chain.from_iterable(map(_keys, spoken)):
        if rows := lookup.products.get(key):
            return rows
    near = get_close_matches(_short(text), lookup.spellings, n=4)
    what = f"no GPU product is known by the name {text[:60]!r}"
    nearest = f"nearest: {', '.join(lookup.spellings[n] for n in near)}" if near else ""
    raise InputError(what, why=nearest, fix=ASK)


def ccs(rows: Iterable[Product]) -> tuple[str, ...]:
    """Every compute capability that these rows can be, lowest first."""
    every = {cc for row in rows for cc in (row.cc, *(cc for _, cc in row.by_die)) if cc}
    return tuple(sorted(every, key=_number))


def likely(rows: Iterable[Product]) -> str | None:
    """The cc of a name: its only one, or that of nearly all that were sold; None = ask."""
    rows = tuple(rows)
    every = ccs(rows)
    if len(every) == 1:
        return every[0]
    return rows[0].by_die[0][1] if len(rows) == 1 and rows[0].likely else None


def die_of_pci(pci_id: str) -> Die | None:
    """The die of a PCI id (``10de:1b06``, or the device alone), None where it is not known."""
    vendor, _, device = pci_id.strip().lower().rpartition(":")
    if vendor not in {"", "10de", "0x10de"}:
        return None
    return _lookup().dies.get(device.removeprefix("0x"))


def of_pci(pci_id: str) -> tuple[Product, ...]:
    """The products that a PCI id belongs to; most ids are of one."""
    device = pci_id.strip().lower().rpartition(":")[2].removeprefix("0x")
    return tuple(row for row in load_names().products if device in row.pci_ids)


@dataclass(frozen=True)
class _Lookup:
    """Rows by key; ``spellings`` leads from the short form of a name to the name."""

    products: dict[str, tuple[Product, ...]]
    spellings: dict[str, str]
    dies: dict[str, Die]


def _lookup() -> _Lookup:
    return _made(os.environ.get(OVERLAY, ""))


@lru_cache(maxsize=4)
def _made(_overlay: str) -> _Lookup:
    """Of a key's owners only those stay whose name it is with the least left out."""
    rows = load_names()
    ranked: dict[str, dict[int, list[Product]]] = {}
    spellings: dict[str, str] = {}
    for row in rows.products:
        for name in (row.name, *row.aliases):
            spellings[_short(name)] = name
            # A part that is made for laptops alone is named without saying so: "RTX 3500 Ada".
            desk = _keys(_MOBILE.sub(" ", name)) if _MOBILE.search(name) else ()
            for rank, key in enumerate(dict.fromkeys((*_keys(name), *desk))):
                owners = ranked.setdefault(key, {}).setdefault(rank, [])
                if row not in owners:
                    owners.append(row)
    products = {key: tuple(ranks[min(ranks)]) for key, ranks in ranked.items()}
    return _Lookup(products, spellings, {i: row for row in rows.dies for i in row.pci_ids})


def _keys(text: str) -> tuple[str, ...]:
    """The name as typed, then without the brand, then without form factor and memory size."""
    whole = _clean(text)
    printed = _without(whole, ("nvidia",))
    short = _without(printed, _BRANDS)
    plain = " ".join(_FORM.sub(" ", short).split())
    steps = (whole, printed, short, _without(short, _SERIES), plain, _without(plain, _SERIES))
    return tuple(dict.fromkeys(_compact(step) for step in steps if step))


def _short(text: str) -> str:
    return _compact(_without(_clean(text), ("nvidia", *_BRANDS)))


def _clean(text: str) -> str:
    lower = _NOISE.sub(" ", text.lower().replace("laptop", "mobile"))
    return " ".join(re.sub(r"[^a-z0-9.+]+", " ", lower).split())


def _compact(text: str) -> str:
    return text.replace(" ", "")


def _without(text: str, words: tuple[str, ...]) -> str:
    """The text without these words at its start, glued or not (``gtx1080`` too)."""
    pattern = "|".join(words)
    return re.sub(rf"^(?:(?:{pattern})\b ?|(?:{pattern})(?=\d))+", "", text)


def _nearest_cc(digits: str, known: list[str]) -> list[str]:
    """Two below and two above."""
    at = bisect_left([_number(cc) for cc in known], int(digits))
    return known[max(0, at - 2) : at + 2]


def _number(cc: str) -> int:
    major, _, minor = cc.partition(".")
    return int(major) * 10 + int(minor)
