"""What the rules of ``doctor`` read: a machine, an image, and the known texts of logs."""

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from envbuild.matrix.load import load
from envbuild.values.codec import Value
from envbuild.values.diagnosis import Seen
from envbuild.values.host import EngineFacts, Gpu, Host
from envbuild.values.image import ImageFacts

if TYPE_CHECKING:
    from envbuild.matrix.model import Capability
    from envbuild.planner.table import Table
    from envbuild.planner.target import Card
    from envbuild.values.plan import Plan


class Scene(Value):
    """Everything that is known; what is not is None or empty, and rules then say nothing.

    Attributes:
        host: the machine.
        image: an image, or None.
        seen: the known texts of all logs.
        logs: what was read, as the user calls it.
    """

    host: Host = Host()
    image: ImageFacts | None = None
    seen: tuple[Seen, ...] = ()
    logs: tuple[str, ...] = ()

    def saw(self, *ids: str) -> Seen | None:
        """The first of these texts that stood in a log."""
        return next((seen for id in ids for seen in self.seen if seen.id == id), None)

    def word(self, name: str) -> str | None:
        """The first word of that name that any text of the logs captured."""
        return next((text for seen in self.seen if (text := seen.words.get(name))), None)

    @property
    def wsl2(self) -> bool:
        """Linux inside WSL 2: its driver is that of Windows."""
        return self.host.platform == "wsl2"

    @property
    def jetson(self) -> bool:
        """A Jetson: its driver is part of L4T."""
        return self.host.platform == "jetson"

    @property
    def native(self) -> bool:
        """Linux on a PC or server, with a kernel module of its own."""
        return self.host.platform == "linux"

    @property
    def smi(self) -> str | None:
        """What nvidia-smi said when it failed; empty = it worked, None = it was not run."""
        probe = next((p for p in self.host.probes if p.name == "nvidia-smi"), None)
        return None if probe is None else "" if probe.ok else probe.says

    @property
    def driver_works(self) -> bool:
        """NVML or nvidia-smi answered with a GPU."""
        return any(gpu.source in {"nvml", "nvidia-smi"} for gpu in self.host.gpus)

    def engine(self, name: str) -> EngineFacts | None:
        """The first engine of that name, one that answers before one that does not."""
        named = [e for e in self.host.engines if e.name == name]
        return min(named, key=lambda e: not e.answers, default=None)

    def setting(self, name: str) -> str | None:
        """What the first configuration file that knows this name sets it to."""
        values = (config.values.get(name) for config in self.host.configs)
        return next((value for value in values if value is not None), None)

    def variable(self, name: str) -> str | None:
        """A variable of the user's environment, among those that a host records."""
        return self.host.env.get(name)

    @property
    def chips(self) -> "tuple[tuple[Gpu, Capability], ...]":
        """Each GPU whose compute capability is known, with the row of that capability.

        What `cards` knows beyond it costs the tables of names, which a measured cc does not need.
        """
        if all(gpu.cc is not None for gpu in self.host.gpus):
            found = [(gpu, self.capability(gpu.cc or "")) for gpu in self.host.gpus]
        else:
            found = [(gpu, self.capability(card.cc)) for gpu, card in self.cards]
        return tuple((gpu, row) for gpu, row in found if row is not None)

    @property
    def cards(self) -> "tuple[tuple[Gpu, Card], ...]":
        """Each GPU whose compute capability is known, with what its rows say."""
        return _cards(self.host.gpus)

    @property
    def driver_version(self) -> str | None:
        """The release of the driver, where it is one."""
        version = self.host.driver.version if self.host.driver is not None else None
        return version if version is not None and is_version(version) else None

    @property
    def driver_cuda(self) -> str | None:
        """The newest CUDA that the driver serves, as it says itself or as its release tells."""
        driver = self.host.driver
        if driver is None:
            return None
        told = driver.cuda if driver.cuda is not None and is_version(driver.cuda) else None
        if self.driver_version is None or self.jetson:
            return told
        from envbuild.planner.drivers import own_level

        return own_level(table(), self.driver_version, told, windows=self.wsl2)

    def capability(self, cc: str) -> "Capability | None":
        """The row of a compute capability."""
        return next((row for row in load().capabilities if row.cc == cc), None)

    def plan(self, *packages: str, **changes: object) -> "Plan | None":
        """What the planner would take for this machine, None where it has no GPU that is known.

        Args:
            packages: wishes as ``torch`` or ``torch==2.8.0``.
            changes: fields of the request (``where="host"``, ``cuda="12.9"``).
        """
        from envbuild.advice.planned import planned

        return planned(self.host, packages, **changes)


def is_version(text: str) -> bool:
    """A release number, as `planner.ranges` compares them: a record may hold anything."""
    return re.fullmatch(r"\d{1,6}(\.\d{1,6}){0,4}", text, re.ASCII) is not None


def table() -> "Table":
    """The planner's look-ups over the loaded rows."""
    from envbuild.planner.table import table_of

    return table_of(load())


@lru_cache(maxsize=8)
def _cards(gpus: tuple[Gpu, ...]) -> "tuple[tuple[Gpu, Card], ...]":
    from envbuild.errors import InputError
    from envbuild.planner.cards import card_of

    found = []
    for gpu in gpus:
        try:
            card = card_of(gpu, table())
        except InputError:  # a cc that no row knows
            continue
        if card is not None:
            found.append((gpu, card))
    return tuple(found)
