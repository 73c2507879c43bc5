"""A request and a machine into a target: each fact one value, flag before record before probe."""

import re
from typing import TYPE_CHECKING

from envbuild.errors import InputError
from envbuild.host.access import access_of, containers, has_gpu, is_docker, knows_no_cdi, release
from envbuild.host.fabric import Fabric, fabric_of
from envbuild.matrix.model import Matrices
from envbuild.planner import drivers, system, words
from envbuild.planner.cards import asked_cards, cpu_of, undriven_cards, unknown
from envbuild.planner.ranges import numbers, parse
from envbuild.planner.table import Table, table_of
from envbuild.planner.target import Card, Platform, Target
from envbuild.planner.tools import tools_of
from envbuild.values.codec import replace
from envbuild.values.host import Host
from envbuild.values.plan import Provenance
from envbuild.values.request import Request

if TYPE_CHECKING:
    from envbuild.matrix.model import JetsonRow

_ARCHES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}
_BESIDE = {"cc": "gpu", "platform": "l4t", "arch": "platform"}  # the other flag that gives a fact
_MOST = 64  # entries of one list; more is a mistake, and a search over subsets would not end


def resolve(
    request: Request,
    host: Host | None,
    matrices: Matrices,
    *,
    from_file: frozenset[str] = frozenset(),
    machine: tuple[str, ...] | None = None,
) -> Target:
    """Give every fact one value.

    Args:
        request: what was asked for; wins over the machine.
        host: a detected or recorded machine; None = declared, nothing was looked at.
        matrices: the rows that names are checked against.
        from_file: flags whose values stand in a file (``cc``, ``driver``), not on the command line.
        machine: flags that give this host again, () where it is the machine at hand; None = a
            command that is suggested spells its facts out.

    Raises:
        InputError: an unknown cc, GPU, system or feature; a version or date that is none; a
            recorded host that cannot be planned for.
        MachineError: this machine cannot be planned for.
    """
    _limits(request)
    host = system.counted(host, request)
    made = _Resolver(request, host, table_of(matrices), from_file).target()
    return replace(made, machine=machine) if machine is not None and host is not None else made


class _Resolver:
    """One resolution; keeps the provenance of each fact as it goes."""

    def __init__(
        self, request: Request, host: Host | None, table: Table, from_file: frozenset[str]
    ) -> None:
        self.request = request
        self.host = host
        self.table = table
        self.from_file = from_file
        self.facts: list[Provenance] = []
        self.claim: str | None = None
        self.seen = "recorded" if host is not None and host.kind != "detected" else "detected"

    def target(self) -> Target:
        """All facts together."""
        request, host, table = self.request, self.host, self.table
        cards, origin = asked_cards(request, host, table)
        named = "all" if "all" in request.cc else ",".join(dict.fromkeys(c.cc for c in cards))
        if named:
            self._note("cc", named, origin or self.seen)
        platform, arch, l4t = self._platform(cards)
        driver, level, module = self._driver(platform, l4t)
        torch, packages = words.wanted(request.packages, table)
        where = request.where or "image"
        base = words.system(request.base_os, table) if request.base_os is not None else None
        here = base or (host.os.id if host is not None else None)
        own = system.native(table, host, base) if where == "host" else system.System(host)
        engines = _engines(host)
        access = _access(engines, platform, host)
        self._note("access", access, self.seen if engines else "default")
        if engines:
            self._note("engine", engines[0][0], self.seen)
        return Target(
            cards=cards,
            every_cc=request.cc == ("all",),
            driver=driver,
            driver_cuda=level,
            claim=self.claim,
            unread=self._unread(platform),
            away=_away(host),
            inside=host.inside_container if host is not None else None,
            module=module,
            cuda=parse(request.cuda, "--cuda") if request.cuda is not None else None,
            torch=torch,
            packages=packages,
            features=words.features(request.features, table),
            base_os=base if where == "image" else None,
            arch=arch,
            platform=platform,
            l4t=l4t,
            glibc=self._version("glibc", request.glibc, own),
            gcc=self._version("gcc", request.gcc, own),
            python=own.python if where == "host" else None,
            host_os=here if where == "host" else None,
            where=where,
            flavour=request.flavour,
            source=request.toolkit_source,
            as_of=words.date(request.as_of) if request.as_of is not None else table.matrices.date,
            split=request.split,
            access=access,
            engine_access=engines,
            docker=_docker(host),
            container_toolkit=release(host.container_toolkit if host else None),
            containers=containers(host) if host is not None else None,
            fabric=_fabric(request, host, table),
            tools=tools_of(host),
            kernels=table.kernels,
            from_source=table.compiled,
            unseen=host is not None and not host.gpus and origin == "flag",
            undriven=undriven_cards(request, host, table),
            system=host.os.id if host is not None else None,
            declared=host is None,
            request=request,
            provenance=tuple(self.facts),
        )

    def _note(self, fact: str, value: str, origin: str) -> None:
        if origin == "flag" and self.from_file.intersection((fact, _BESIDE.get(fact, ""))):
            origin = "file"
        self.facts.append(Provenance(fact=fact, value=value, origin=origin))

    def _platform(self, cards: tuple[Card, ...]) -> tuple[Platform, str, str | None]:
        text, arch_text = self.request.platform, self.request.arch
        if text is not None and "/" in text:
            text, _, cpu = text.partition("/")
            if arch_text is not None and _ARCHES.get(cpu) != _ARCHES.get(arch_text):
                what = f"--platform {self.request.platform} and --arch {arch_text} are two machines"
                raise InputError(what, fix="give one of them")
            arch_text = cpu
        if arch_text is not None and arch_text not in _ARCHES:
            unknown("--arch", arch_text, tuple(_ARCHES))
        if text in {"windows", "win"}:
            what = f"--platform {text}: on Windows, containers see a GPU inside WSL 2 alone"
            raise InputError(what, fix="give --platform wsl2")
        if text not in {None, "linux", "wsl2", "jetson"}:
            unknown("--platform", text or "", ("linux", "wsl2", "jetson", "linux/arm64"))
        if self.request.l4t is not None and text not in {None, "jetson"}:
            what = f"--l4t {self.request.l4t[:40]} is a Jetson's, and --platform {text} is none"
            raise InputError(what, fix="give one of them")
        parts = [c for c in cards if self.table.capability(c.cc).tegra]
        l4t = self.request.l4t
        if text is None and self.host is not None:
            text = system.platform(self.host)
            for fact, value in system.on_windows(self.host):
                self._note(fact, value, self.seen)
            if l4t is None and self.host.jetson is not None:
                l4t = self.host.jetson.l4t
        if text is None and (l4t is not None or (parts and len(parts) == len(cards))):
            text = "jetson"
        arch = self._arch(arch_text, cards, text)
        if text == "jetson":
            row = self._l4t(l4t, cards)
            named = self.request.platform or self.request.l4t
            self._note("platform", row.platform, "flag" if named else "cc")
            return row.platform, arch, row.l4t
        if text == "wsl2":
            on_windows = self.host is not None and self.host.platform == "windows"
            seen = "derived" if on_windows else self.seen
            self._note("platform", "wsl2", "flag" if self.request.platform else seen)
            return "wsl2", arch, None
        platform: Platform = "sbsa" if arch == "aarch64" else "linux"
        self._note("platform", platform, "flag" if self.request.platform else "default")
        return platform, arch, None

    def _arch(self, text: str | None, cards: tuple[Card, ...], platform: str | None) -> str:
        if text is not None:
            self._note("arch", _ARCHES[text], "flag")
            return _ARCHES[text]
        if self.host is not None and self.host.os.arch in _ARCHES:
            self._note("arch", self.host.os.arch or "", self.seen)
            return _ARCHES[self.host.os.arch or "x86_64"]
        beside = {cpu_of(self.table, card) for card in cards}
        only = beside.pop() if len(beside) == 1 else None
        arch = "aarch64" if platform == "jetson" else only or "x86_64"
        self._note("arch", arch, "cc" if only else "default")
        return arch

    def _l4t(self, text: str | None, cards: tuple[Card, ...]) -> "JetsonRow":
        """The L4T line asked for; without one, the newest with these parts and the CUDA wished."""
        rows = sorted(self.table.jetson.values(), key=lambda r: numbers(r.l4t), reverse=True)
        if text is None:
            ccs = {c.cc for c in cards}
            fit = [r for r in rows if ccs <= set(r.cc)] or rows
            if self.request.cuda is not None:
                wanted = parse(self.request.cuda, "--cuda")
                fit = [r for r in fit if r.cuda in wanted] or fit
            if not fit:
                what = "these matrices have no Jetson rows"
                raise InputError(what, fix="add them with ENVBUILD_MATRICES")
            self._note("l4t", fit[0].l4t, "default")
            return fit[0]
        match = re.fullmatch(r"[rR]?(\d{2}(?:\.\d{1,2}){0,2})", text.strip(), re.ASCII)
        at = numbers(match[1]) if match else ()
        for row in rows:
            line = numbers(row.l4t)
            if at and (at[: len(line)] == line or line[: len(at)] == at):
                self._note("l4t", row.l4t, "flag" if self.request.l4t else self.seen)
                return row
        what = f"--l4t {text[:40]!r} is not a Jetson release of these matrices"
        raise InputError(what, fix=f"one of {', '.join(r.l4t for r in rows)}")

    def _driver(
        self, platform: Platform, l4t: str | None
    ) -> tuple[str | None, str | None, str | None]:
        """Version, CUDA level and module flavour of the driver; all None = not known."""
        here = self.host.driver if self.host is not None else None
        if platform.startswith("jetson"):
            # The driver is part of L4T: its level is a row, its version says nothing.
            return None, self.table.jetson[l4t or ""].cuda, None
        if self.request.driver is not None:
            windows = platform == "wsl2"
            version = words.driver(self.request.driver, self.table, windows=windows)
            self._note("driver", version, "flag")
            return version, drivers.level(self.table, version, windows=windows), None
        if here is None or here.version is None:
            return None, None, None
        numbers(here.version)
        self._note("driver", here.version, self.seen)
        windows = platform == "wsl2"
        level = drivers.own_level(self.table, here.version, here.cuda or None, windows=windows)
        if level is not None:
            numbers(level)
        self.claim = here.cuda if here.cuda and here.cuda != level else None
        # With a cc from a flag the card is elsewhere: only its driver version is taken over.
        own = not (self.request.cc or self.request.gpus)
        return here.version, level, here.module if own else None

    def _unread(self, platform: Platform) -> bool:
        """A driver is loaded that no probe got the version of, and no flag says it."""
        here = self.host.driver if self.host is not None else None
        known = self.request.driver is not None or platform.startswith("jetson")
        return here is not None and here.version is None and not known

    def _version(self, fact: str, flag: str | None, own: system.System) -> str | None:
        if flag is not None:
            self._note(fact, words.version(flag, f"--{fact}"), "flag")
            return flag
        here: str | None = getattr(own, fact)
        if here is not None:
            numbers(here)
            self._note(fact, here, own.origins.get(fact, self.seen))
        return here


def _limits(request: Request) -> None:
    for flag, values in (
        ("--cc", request.cc),
        ("--gpu", request.gpus),
        ("--with", request.packages),
        ("--feature", request.features),
    ):
        if len(values) > _MOST:
            what = f"{flag} is given {len(values)} times; at most {_MOST} make one plan"
            raise InputError(what, fix="ask for fewer at once")


def _engines(host: Host | None) -> tuple[tuple[str, str], ...]:
    """The access mode of each engine that answers; without a GPU, of those that offer one.

    A podman from before CDI has none.
    """
    if host is None:
        return ()
    gpu = has_gpu(host)
    return tuple(
        (e.name, access_of(host, e.name))
        for e in host.engines
        if e.answers and (gpu or e.access) and not knows_no_cdi(e)
    )


def _fabric(request: Request, host: Host | None, table: Table) -> Fabric | None:
    """What joins the GPUs of the machine that is planned for; None = nothing has to, or it did."""
    if host is None or request.cc or request.gpus:
        return None
    found = fabric_of(host, table.matrices.situations)
    return None if found is None or found.joined else found


def _away(host: Host | None) -> bool:
    gpus = host.gpus if host is not None else ()
    return bool(gpus) and all(gpu.held_by == "vfio-pci" for gpu in gpus)


def _docker(host: Host | None) -> str | None:
    return next((release(e) for e in host.engines if e.name == "docker"), None) if host else None


def _access(engines: tuple[tuple[str, str], ...], platform: Platform, host: Host | None) -> str:
    """The mode of the first engine that answers; with none known, what the platform wants."""
    for _, mode in engines:
        return mode
    if platform.startswith("jetson"):
        return "nvidia-runtime"
    if host is not None and has_gpu(host) and any(map(is_docker, host.engines)):
        return access_of(host, "docker")
    # Docker Desktop, the engine of Windows, sees no CDI specification.
    return "gpus" if host is not None and host.platform == "windows" else "cdi"
