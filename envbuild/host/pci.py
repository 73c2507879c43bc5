"""NVIDIA cards as the PCI bus shows them: all that is known where no driver answers."""

from collections.abc import Iterator
from typing import NamedTuple

from envbuild.host.look import Look

_BUS = "/sys/bus/pci/devices"
_VENDOR = "10de"
_SWITCH = "0680"  # other bridge: as NVSwitches show themselves
_DISPLAY = "03"  # PCI base class: VGA (0300), 3D (0302) and other display controllers (0380)


class Card(NamedTuple):
    """One card: address, ``10de:1b06``, and the kernel driver that holds it (nouveau, nvidia)."""

    bus: str
    id: str
    driver: str | None


def cards(look: Look) -> tuple[Card, ...]:
    """The NVIDIA display controllers of the bus, in order of address."""
    return tuple(Card(bus, device, _driver(look, bus)) for bus, device in _devices(look, _DISPLAY))


def switches(look: Look) -> int:
    """How many NVSwitches the bus holds: GPUs behind them wait for the fabric manager."""
    return sum(1 for _ in _devices(look, _SWITCH))


def _devices(look: Look, wanted: str) -> Iterator[tuple[str, str]]:
    """Address and ``10de:1b06`` of our vendor's devices whose class starts with ``wanted``."""
    for bus in look.names(_BUS):
        vendor, device, kind = (
            parse_hex(look.text(f"{_BUS}/{bus}/{name}")) for name in ("vendor", "device", "class")
        )
        if vendor == _VENDOR and device and kind and kind.startswith(wanted):
            yield bus, f"{vendor}:{device}"


def parse_hex(text: str | None) -> str | None:
    """A sysfs number without its ``0x``, lower case; None if it is none.

    >>> parse_hex("0x10DE")
    '10de'
    """
    digits = (text or "").strip().lower().removeprefix("0x")
    return digits if digits and all(c in "0123456789abcdef" for c in digits) else None


def _driver(look: Look, bus: str) -> str | None:
    try:
        return look.path(f"{_BUS}/{bus}/driver").resolve(strict=True).name
    except (OSError, RuntimeError):
        return None


def normal(bus: str | None) -> str:
    """One spelling of a PCI address: NVML writes eight digits of domain and capitals.

    >>> normal("00000000:01:00.0")
    '0000:01:00.0'
    """
    domain, _, rest = (bus or "").lower().partition(":")
    return f"{domain[-4:]:>04}:{rest}" if rest else ""
