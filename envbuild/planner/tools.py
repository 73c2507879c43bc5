"""What a machine has to compile with, and who works there, as its record says it."""

from typing import TYPE_CHECKING

from envbuild.planner.ranges import minor
from envbuild.values.codec import Value

if TYPE_CHECKING:
    # A plan that looked at no machine does not load the record of one.
    from envbuild.planner.table import Place
    from envbuild.planner.target import Target
    from envbuild.values.host import Host


class Tools(Value):
    """Compilers and toolkits of a machine that was looked at.

    Attributes:
        compilers: the names of its gcc and g++ (``g++-13``); None = nobody looked.
        toolkits: version and folder of each CUDA toolkit that holds a compiler.
        root: its user is root inside a container, where sudo is often missing.
    """

    compilers: tuple[str, ...] | None = None
    toolkits: tuple[tuple[str, str], ...] = ()
    root: bool = False


def tools_of(host: "Host | None") -> Tools | None:
    """The tools of a machine; None = none was looked at."""
    if host is None:
        return None
    # Who makes a record by hand writes what matters to him: a gcc stands for its g++, too.
    listed = bool(host.compilers) and host.kind != "made"
    looked = {probe.name: probe.ok for probe in host.probes}.get("compilers", listed)
    nvcc = {minor(t.version) for t in host.compilers if t.name == "nvcc" and t.version}
    return Tools(
        compilers=tuple(t.name for t in host.compilers) if looked else None,
        toolkits=tuple(
            (tool.version, tool.path)
            for tool in host.toolkits
            if tool.name == "cuda" and tool.version and tool.path and minor(tool.version) in nvcc
        ),
        root=bool(host.root) and host.inside_container is not None,
    )


def toolkit_of(target: "Target", place: "Place") -> tuple[str, str] | None:
    """Version and folder of the place's toolkit on the machine itself; None = it is not there."""
    if target.tools is None or not target.on_host or place.kind != "compiler":
        return None
    return next((one for one in target.tools.toolkits if minor(one[0]) == place.cuda), None)
