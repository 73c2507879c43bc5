"""Rows about how a GPU comes into a container, and what that does to an image."""

from typing import Literal

from envbuild.matrix.model.base import Row


class Injection(Row):
    """What one way into a container does, from these versions on, `access.yaml`.

    Attributes:
        access: the way, as plans name it.
        platform: ``wsl2`` or ``jetson`` where it is another there, empty = elsewhere.
        engine_since: docker release from which the row holds.
        toolkit_since: container-toolkit release from which it holds.
        mode: who does it: the prestart hook, a CDI spec, the CSV lists of a Jetson; ``refused`` =
            this way does not exist there.
        reads_require: ``NVIDIA_REQUIRE_CUDA`` of the image is read, and can stop the container.
        compat: when the image's own, newer libcuda is put before that of the driver: when its
            branch is above the driver's, or only if it also lists that branch.
        listed_from: first CUDA whose compat libcuda is known to carry that list.
        outdated: a container toolkit with published holes: nobody is assumed to run it.
    """

    access: Literal["cdi", "gpus", "nvidia-runtime"]
    platform: Literal["", "wsl2", "jetson"] = ""
    engine_since: str = "0"
    toolkit_since: str = "0"
    mode: Literal["legacy", "cdi", "csv", "refused"]
    reads_require: bool = False
    compat: Literal["never", "newer-branch", "listed-branch"] = "never"
    listed_from: str | None = None
    outdated: bool = False


class Situation(Row):
    """What holds where a GPU is not simply a card in a machine, `access.yaml`.

    Attributes:
        what: ``mig``, ``vgpu``, ``fabric-manager``.
        least: lowest release that will do, where the fact has one.
        says: the fact, for people.
        cc: it holds for machines with one of these.
        gpus, pci_ids: it holds for machines with at least so many GPUs of these devices.
    """

    what: str
    least: str | None = None
    says: str
    cc: tuple[str, ...] = ()
    gpus: int | None = None
    pci_ids: tuple[str, ...] = ()


class Hole(Row):
    """A published hole of the container toolkit, `access.yaml`.

    Attributes:
        cve: its number.
        fixed: first release without it.
        cdi_since: first release with it where the GPU comes by CDI, empty = never there.
        other_since: the same where it comes by the hook or by a Jetson's lists.
        says: what an image can do.
    """

    cve: str
    fixed: str
    cdi_since: str = "0"
    other_since: str = "0"
    says: str
