"""Where it runs: this machine or an image, architecture, Jetson, WSL, base system."""

from envbuild.matrix.model import DistroToolkit, JetsonRow, Repository, Toolkit
from envbuild.planner.cards import cpu_of
from envbuild.planner.ranges import numbers
from envbuild.planner.rules.base import about, error, rule, some
from envbuild.planner.table import Place, Table, cite
from envbuild.planner.target import Target
from envbuild.values.finding import Finding


@rule(("os",), "where", "platform")
def right_side(table: Table, place: Place, target: Target) -> Finding | None:
    """Places of this machine for ``--where host``, bases of images otherwise."""
    del table
    if (place.os is None) != (target.where == "host"):
        says = f"{place.os} is the base of an image, and --where host asks for this machine"
        if place.os is None:
            says = "it is for this machine itself (--where host), not for an image"
        return error("where", says, place.cite)
    if isinstance(place.row, JetsonRow) and not target.platform.startswith("jetson"):
        return error("jetson", "images of L4T are for Jetsons alone", place.cite)
    return None


@rule((), "host_os", "platform", "l4t", asked=("on_host",))
def host_system(table: Table, place: Place, target: Target) -> Finding | None:
    """What is made for one system serves that system alone."""
    del table
    if place.os is not None:
        return None
    row = place.row
    if isinstance(row, JetsonRow) and target.l4t != row.l4t:
        return error("jetson", f"it is part of L4T {row.l4t} alone", place.cite)
    if isinstance(row, DistroToolkit) and target.platform == "wsl2":
        says = "a distribution's own toolkit drags a Linux driver into WSL, over the Windows one"
        return error("wsl-distro", says, place.cite)
    if isinstance(row, DistroToolkit) and target.host_os != row.os:
        name = row.os.rstrip("0123456789.")
        compiles = " (it compiles with its C library)" if row.patched_glibc else ""
        says = f"{name.capitalize()} {row.os[len(name) :]}'s own archive alone has it{compiles}"
        return error("host-os", about(place.cuda, says), place.cite)
    if isinstance(row, Repository) and row.kind == "apt":
        wsl = row.platform == "wsl2"
        other = target.host_os not in row.oses and not (wsl and target.host_os is None)
        if wsl != (target.platform == "wsl2") or other:
            says = f"the repository {row.name} is for another system than this"
            if wsl and target.windows:
                says = f"{row.name} is for {', '.join(row.oses)}: apt elsewhere may refuse its key"
            return error("host-os", about(place.cuda, says), place.cite)
    return None


@rule("toolkit", "cards", "platform", asked=("on_host",))
def one_machine(table: Table, toolkit: Toolkit, target: Target) -> Finding | None:
    """A machine has one driver with one flavour of kernel modules, for all its cards."""
    del toolkit
    cards = tuple(card for card in target.cards if not table.capability(card.cc).tegra)
    if len(cards) < 2:
        return None
    from envbuild.planner.window import apart

    clash = apart(table, cards, windows=target.windows)
    if clash is None:
        return None
    says = f"no single machine can hold these cards: {clash[0]}"
    return error("host-window", says, clash[1], "one image can serve both, on a machine of each")


@rule(("cuda", "source", "os"), asked=("base_os",))
def base_os(table: Table, place: Place, target: Target) -> Finding | None:
    """The base system that was asked for."""
    if target.base_os is None or place.os in {target.base_os, None}:
        return None
    says = "the image of an L4T has a base of its own"
    if not isinstance(place.row, JetsonRow):
        if target.base_os not in table.of_os:
            says = f"no base image of {target.base_os} is in these matrices"
            why = "--where host plans for such a machine itself; images of other systems run on it"
            return error("base-os", says, cite(table.oses[target.base_os], target.base_os), why)
        there = some(table.bases(place.cuda, place.source))
        says = f"not on {target.base_os}: {place.source} has it on {there}"
    return error("base-os", about(place.cuda, says), place.cite)


@rule(("source",), "where", "torch", asked=("flavour",))
def flavour_there(table: Table, place: Place, target: Target) -> Finding | None:
    """Packages hold whole toolkits: what is smaller than devel is a vendor tag, or wheels."""
    del table
    if target.flavour == "devel" or place.source in {"image", "wheels"} or target.on_host:
        return None
    says = f"{place.source} holds a whole toolkit and has no {target.flavour} flavour"
    return error("flavour", says, place.cite)


@rule("toolkit", "where", "flavour", asked=("features", "packages"))
def flavour_compiles(table: Table, toolkit: Toolkit, target: Target) -> Finding | None:
    """What is to be compiled in the image needs its devel flavour."""
    del toolkit
    compiled = target.compiled
    if not compiled or target.flavour in {None, "devel"} or target.where == "host":
        return None
    wish = compiled[0]
    row = table.features.get(wish, table.features["arch-specific"])
    asked, source = f"--feature {wish}", cite(row, row.name)
    if wish not in target.features:
        package = table.packages[wish][0]
        asked, source = f"--with {wish}", cite(package, package.name)
    says = f"{asked} compiles for the GPU: the {target.flavour} flavour has no nvcc"
    return error("flavour", says, source)


@rule(("source", "arches"), asked=("arch",))
def place_arch(table: Table, place: Place, target: Target) -> Finding | None:
    """The CPU architecture."""
    del table
    if target.arch in place.arches:
        return None
    says = f"{place.source} has it for {', '.join(place.arches)}, not for {target.arch}"
    return error("arch", says, place.cite)


@rule("toolkit", "arch", each="cards")
def card_arch(table: Table, toolkit: Toolkit, target: Target) -> Finding | None:
    """Integrated parts and superchips come with one CPU architecture."""
    del toolkit
    for card in target.cards:
        cpu, row = cpu_of(table, card), table.capability(card.cc)
        if target.arch is not None and cpu not in {None, target.arch}:
            name = card.name or row.arch
            says = f"{name} (cc {card.cc}) comes with an {cpu} CPU, not {target.arch}"
            return error("card-arch", says, cite(row, card.cc))
    return None


@rule("toolkit", "platform", each="cc")
def wsl_card(table: Table, toolkit: Toolkit, target: Target) -> Finding | None:
    """WSL needs a Windows driver: none is new enough for the oldest cards, none is for Jetsons."""
    del toolkit
    for cc in target.cc:
        row = table.capability(cc)
        if target.platform == "wsl2" and row.wsl == "no":
            says = f"{row.arch} (cc {cc}) does not work in WSL 2: no driver with WSL support has it"
            return error("wsl-card", says, cite(row, cc))
        if target.platform == "wsl2" and row.tegra:
            says = f"{row.arch} (cc {cc}) is part of a Jetson, whose driver is that of its L4T"
            return error("wsl-card", f"{says}: no Windows machine has it", cite(row, cc))
    return None


@rule(("cuda", "source", "os", "own"), asked=("l4t",), each="cc")
def jetson(table: Table, place: Place, target: Target) -> Finding | None:
    """Up to L4T 36 the CUDA of a Jetson is that of its L4T; from 38 on it is a server platform."""
    here = isinstance(place.row, JetsonRow)
    row = table.jetson[target.l4t or ""]
    says = ""
    lacking = [cc for cc in target.cc if cc not in row.cc]
    if lacking:
        says = f"L4T {row.l4t} is not for cc {lacking[0]}, but for {', '.join(row.cc)}"
    elif row.platform == "jetson-l4t" and place.row is not row:
        says = f"the CUDA of L4T {row.l4t} is {row.cuda}, and a plan for it takes no other"
        if row.image is None:
            says += "; no image of it is in these matrices (--where host takes what is installed)"
    elif row.platform == "jetson-sbsa" and here:
        says = f"L4T {row.l4t} takes the images of servers"
    elif row.platform == "jetson-sbsa" and numbers(place.cuda)[0] != numbers(row.cuda)[0]:
        says = f"L4T {row.l4t} has a CUDA {row.cuda} driver, which runs no other major"
    return error("jetson", says, cite(row, row.l4t)) if says else None
