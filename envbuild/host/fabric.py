"""What joins the GPUs of a machine with NVSwitches, as far as probes saw it."""

from typing import TYPE_CHECKING

from envbuild.values.codec import Value

if TYPE_CHECKING:
    # A plan that looked at no machine does not load the record of one.
    from envbuild.matrix.model.access import Situation
    from envbuild.values.host import Host

SERVICE = "nvidia-fabricmanager"
_PACKAGES = (SERVICE, "cuda-datacenter-fabricmanager")
_WAITS = frozenset({"in-progress", "not-started"})


class Fabric(Value):
    """GPUs behind NVSwitches.

    Attributes:
        switches: NVSwitches on the bus; 0 = kind and number of the GPUs tell of them.
        state: that of the Fabric Manager's service, empty = it is not there; None = nobody looked.
        package: version of its package, where it is known.
        joined: NVML sees each GPU joined to the others.
        waits: NVML sees a GPU that waits to be joined.
        subnet: its switches need the subnet manager (nvlsm), too.
        os: id of the system.
        inside: the kind of container that the machine is, None = none.
    """

    switches: int = 0
    state: str | None = None
    package: str | None = None
    joined: bool = False
    waits: bool = False
    subnet: bool = False
    os: str | None = None
    inside: str | None = None


def fabric_of(host: "Host", boards: "tuple[Situation, ...]") -> Fabric | None:
    """The machine's fabric; None = nothing shows that it has one.

    Args:
        host: the machine.
        boards: rows of the GPUs that NVSwitches join where a machine has so many of them: from
            the fourth generation on the bus does not show the switches themselves.
    """
    ids = [(gpu.pci_id or "").removeprefix("10de:") for gpu in host.gpus]
    board = next((b for b in boards if b.gpus and sum(i in b.pci_ids for i in ids) >= b.gpus), None)
    if board is None and not host.nvswitches:
        return None
    told = {gpu.fabric for gpu in host.gpus}
    packages = (text for name, text in host.packages if name.startswith(_PACKAGES))
    return Fabric(
        switches=host.nvswitches,
        state=host.services.get(SERVICE, "") if host.services else None,
        package=next(packages, None),
        joined=told == {"completed"},
        waits=bool(told & _WAITS),
        subnet=board is not None and board.what == "nvswitch-subnet",
        os=host.os.id,
        inside=host.inside_container,
    )
