"""From a request and a machine to the case of a guide: kind, system, and the plans to reach."""

from typing import get_args

from envbuild.advice.guide.base import Case
from envbuild.errors import InputError
from envbuild.matrix.load import load
from envbuild.matrix.model import Os
from envbuild.planner.one import plan_one
from envbuild.planner.ranges import numbers
from envbuild.planner.resolve import resolve
from envbuild.planner.table import table_of
from envbuild.planner.target import Target
from envbuild.values.codec import replace
from envbuild.values.guide import Kind
from envbuild.values.host import Host
from envbuild.values.plan import Plan
from envbuild.values.request import Request

_FAMILIES: dict[str, tuple[str, ...]] = {
    "ubuntu": ("ubuntu",),
    "debian": ("debian",),
    "rhel": ("rockylinux", "ubi", "oraclelinux"),
}
_PLATFORMS: dict[Kind, str] = {"wsl2": "wsl2", "windows": "wsl2", "jetson": "jetson"}


def kind_of(host: Host) -> Kind:
    """The guide that a machine needs.

    Raises:
        InputError: no guide is for its system.
    """
    if host.platform in {"windows", "wsl1", "wsl2"}:
        return "wsl2"
    if host.platform == "jetson" or host.jetson is not None:
        return "jetson"
    if host.inside_container is not None and not any(e.answers for e in host.engines):
        return "rented"
    name = host.os.id or ""
    row = next((row for row in load().oses if row.id == name), None)
    for kind in ("ubuntu", "debian"):
        if name.startswith(kind):
            return "ubuntu" if kind == "ubuntu" else "debian"
    rpm = ("rhel", "rocky", "almalinux", "centos", "oraclelinux", "ol", "ubi", "fedora", "amazon")
    if (row is not None and row.family == "rpm") or name.startswith(rpm):
        return "rhel"
    if host.platform == "linux":
        return "linux"
    what = f"no guide is for {host.os.name or name or host.platform}"
    raise InputError(what, fix=f"name the nearest: {', '.join(get_args(Kind))}")


def matches(kind: Kind, host: Host) -> bool:
    """Whether a guide of this kind can be about this machine."""
    try:
        own = kind_of(host)
    except InputError:
        own = None
    if kind in {"rented", "linux"}:
        return host.platform == "linux"
    if kind == "windows":
        return host.platform in {"windows", "wsl2", "wsl1"}
    named = (host.os.id or "").startswith(_FAMILIES.get(kind, ("",)))
    return kind == own or (own == "rented" and kind in _FAMILIES and named)


def case(kind: Kind, request: Request, host: Host | None, way: str = "") -> Case:
    """The case of a guide.

    Args:
        kind: of the guide.
        request: what the machine shall run; its base system is that of the machine here.
        host: the machine, None = nothing is known of it.
        way: the engine that was asked for, empty = whichever.

    Raises:
        InputError: the request names what there is not.
    """
    asked = replace(request, platform=request.platform or _platform(kind, host))
    here = _seen(kind, host)
    inside = asked if asked.where == "host" else replace(asked, base_os=None)
    made = _planned(kind, inside, here)
    os = _system(kind, asked, host, here)
    return Case(
        kind=kind,
        host=host,
        plan=made,
        native=_native(asked, here, os),
        os=os,
        way=way or _way(kind, host),
    )


def _platform(kind: Kind, host: Host | None) -> str | None:
    if kind == "jetson" and host is not None and host.jetson is not None:
        return None
    return _PLATFORMS.get(kind)


def _seen(kind: Kind, host: Host | None) -> Host | None:
    """The machine as the planner takes it: Windows and WSL 1 are on their way to WSL 2."""
    if host is None or kind not in {"wsl2", "windows"}:
        return host
    os = host.os if host.platform == "wsl2" else replace(host.os, id=None, glibc=None)
    return replace(host, platform="wsl2", os=os)


def _planned(kind: Kind, request: Request, host: Host | None) -> Plan:
    """The plan to reach; a driver that stands in its way is what the guide changes."""
    target = resolve(replace(request, split=False), host, load())
    made = _one(target)
    if made.outcome != "refuse" or kind == "rented":
        return made
    freed = replace(target, driver=None, driver_cuda=None, module=None)
    again = _one(freed)
    return again if again.outcome != "refuse" else made


def _one(target: Target) -> Plan:
    return plan_one(table_of(load()), target)


def _native(request: Request, host: Host | None, os: Os | None) -> Plan:
    """The toolkit for the machine itself, from packages where the vendor has them."""
    base = os.id if os is not None else None
    own = replace(request, where="host", flavour=None, base_os=base, split=False)
    source = own.toolkit_source
    own = replace(own, toolkit_source="apt" if source in {None, "image"} else source)
    target = resolve(own, host, load())
    made = _one(target)
    freed = replace(target, driver=None, driver_cuda=None, module=None)
    return made if made.outcome != "refuse" else _one(freed)


def _system(kind: Kind, request: Request, host: Host | None, seen: Host | None) -> Os | None:
    """The Linux system: the one that is named or there, else the newest that takes the plan."""
    rows = {row.id: row for row in load().oses}
    if request.base_os is not None:
        from envbuild.planner import words

        return rows.get(words.system(request.base_os, table_of(load())))
    if host is not None and host.platform != "windows":
        return rows.get(host.os.id or "")
    if kind in {"wsl2", "windows"}:
        return rows["ubuntu24.04"]
    names = _FAMILIES.get(kind, ("ubuntu",))
    own = [row for row in rows.values() if row.id.startswith(names) and row.ends]
    own.sort(key=lambda row: numbers((row.ends or "0").replace("-", ".")), reverse=True)
    fit = (row for row in own if _native(request, seen, row).outcome != "refuse")
    return next(fit, own[0] if own else None)


def _way(kind: Kind, host: Host | None) -> str:
    """The engine that is there already; both ways stay open where none is known."""
    from envbuild.advice.guide.engine import is_desktop

    if kind == "windows":
        return "docker-desktop"
    if kind != "wsl2" or host is None:
        return ""
    found = [e for e in host.engines if e.name == "docker" and e.answers]
    if any(map(is_desktop, found)):
        return "docker-desktop"
    return "docker" if found and all(e.system for e in found) else ""


def about(made: Case) -> tuple[str, ...]:
    """What a guide is for: the plan, the machine, and what the plan warns of."""
    own = made.plan
    cards = ", ".join(own.request.gpus) or (f"cc {', '.join(own.cc)}" if own.cc else "any card")
    host = made.host
    if host is not None and host.gpus:
        cards = ", ".join(gpu.name or "a GPU" for gpu in host.gpus)
    where = own.image.ref or f"this machine, as {own.toolkit_source}"
    if made.kind == "rented":
        where = "a folder of your own, without an engine"
    lines = [f"plan: CUDA {own.cuda} for {cards}: {where}"]
    if host is None:
        lines.append("machine: nothing of it was looked at, so that every state is unknown")
    else:
        words = (
            host.os.name or host.os.id or host.platform,
            host.recorded and f"recorded {host.recorded}",
        )
        lines.append(f"machine: {', '.join(word for word in words if word)}")
    lines += [f"{f.severity}: {f.says}" for f in own.findings if f.severity in {"warn", "watch"}]
    return tuple(lines)
