"""An image that was not built here: no GPU for it through a toolkit that lets it out."""

from envbuild.certify.seen import Choice
from envbuild.errors import MachineError
from envbuild.host.access import containers, is_snap, release, taken
from envbuild.matrix.model import Hole
from envbuild.planner.holes import has, least
from envbuild.values.host import Host


def check(ref: str, host: Host, choice: Choice, holes: tuple[Hole, ...]) -> None:
    """Refuse before anything runs.

    A toolkit whose release is not known is let pass, and so is one that is not what starts
    containers here (a snap has its own, a remote engine is elsewhere).

    Args:
        ref: the image, as people call it.
        host: this machine.
        choice: the GPU, and how it would come in.
        holes: what is published.

    Raises:
        MachineError: the container toolkit has holes through which an image gets out.
    """
    version, here = release(host.container_toolkit), containers(host)
    if choice.gpu is None or choice.access == "native" or version is None or here is None:
        return
    if here.remote or any(map(is_snap, taken(here))):
        return
    # Only CDI is always the mode of its name; behind the others stands one or the other.
    modes = (True,) if choice.access == "cdi" else (True, False)
    found = [hole for hole in holes if any(has(hole, version, cdi=cdi) for cdi in modes)]
    if found:
        names = ", ".join(hole.cve for hole in found)
        what = f"{ref} was not built here, and gets no GPU through container toolkit {version}"
        fix = (
            f"update the toolkit to {least(found)}; --require toolchain runs without a GPU; "
            "--trusted if you know who made the image"
        )
        raise MachineError(what, why=f"{names}: {found[0].says}", fix=fix)
