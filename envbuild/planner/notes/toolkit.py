"""Why this toolkit, what its code leaves out, which source it comes from."""

from collections.abc import Iterator

from envbuild.matrix.model import DistroToolkit, JetsonRow, WheelToolkit
from envbuild.planner import drivers
from envbuild.planner.notes.base import Chosen, note
from envbuild.planner.rules.torch import key
from envbuild.planner.table import cite
from envbuild.values.finding import Finding

_WHERE = {
    "image": "the vendor's tag exists",
    "wheels": "its wheels hold nvcc",
    "distro": "the distribution's own archive has it",
    "apt": "the vendor's repository has it",
    "redist": "the vendor's archives have it",
    "conda": "conda-forge has it",
}


def no_cc(chosen: Chosen) -> Iterator[Finding]:
    """No card was named: nothing says that the plan fits one."""
    if not chosen.cc:
        says = "no compute capability was given: nothing here is checked against a GPU"
        yield note("no-cc", "warn", says, chosen.choice.place.cite, "give --cc or --gpu")


def earlier_date(chosen: Chosen) -> Iterator[Finding]:
    """The rows hold when toolkits, systems and torch began, and of nothing else."""
    as_of, made = chosen.target.as_of, chosen.table.matrices.date
    if as_of < made:
        says = (
            f"--as-of {as_of} leaves out toolkits, systems and torch releases that came later; "
            "their patch releases, drivers and packages are those of these matrices"
        )
        yield note("as-of-past", "watch", says, chosen.choice.place.cite)


def why_this(chosen: Chosen) -> Iterator[Finding]:
    """The chosen toolkit: whose code it makes, whether a newer one could, where it is."""
    place, table = chosen.choice.place, chosen.table
    toolkit = table.toolkits.get(place.cuda)
    build = chosen.choice.build
    named = ", ".join(f"{row.cc} ({row.arch})" for row in chosen.capabilities)
    if chosen.target.every_cc:
        named = f"all its {len(chosen.cc)} targets"
    says = f"CUDA {place.cuda}{' for cc ' if chosen.target.cc else ' for '}{named or 'no card'}"
    if place.kind == "framework" and build is not None:
        if chosen.target.every_cc:
            named = ", ".join(f"sm_{target}" for target in build.targets)
            says = f"CUDA {place.cuda} for all that the wheel has code for, {named}"
        says += f": that of torch {build.torch} from {build.index}"
        why = "its wheels bring the CUDA libraries; nothing is compiled for the GPU"
    else:
        says += _rank(chosen)
        most = f"takes gcc up to {toolkit.gcc_max}; " if toolkit is not None else ""
        why = f"{most}{_WHERE[place.source]}"
    if isinstance(place.row, JetsonRow):
        why = f"it is part of L4T {place.row.l4t}"
    rows = [cite(toolkit, place.cuda)] if toolkit is not None else []
    if place.kind == "framework" and build is not None:
        rows.append(cite(build, key(build)))
    else:
        rows.append(place.cite)
    yield note("toolkit-chosen", "info", says, " · ".join(rows), why)


def _rank(chosen: Chosen) -> str:
    """Whether a newer toolkit could make the same code."""
    table, cuda = chosen.table, chosen.choice.place.cuda
    targets = [code.target for code in chosen.codes]
    if chosen.target.every_cc or not targets or cuda not in table.toolkits:
        return ""
    assembled = ", ".join(f"sm_{t}" for t in targets)
    able = [c for c, t in table.toolkits.items() if set(targets) <= set(t.targets)]
    if able[-1] != cuda:
        return f": assembles {assembled}"
    last = ", and the last" if cuda != list(table.toolkits)[-1] else ""
    return f": the newest toolkit that assembles {assembled}{last}"


def source_taken(chosen: Chosen) -> Iterator[Finding]:
    """No vendor tag of the chosen toolkit fits: the next source was taken."""
    place, target = chosen.choice.place, chosen.target
    asked = target.source is not None or target.where == "host"
    if asked or place.kind == "framework" or place.source == "image":
        return
    tags = chosen.table.of_source.get("image", 0) & chosen.table.of_cuda[place.cuda]
    says = f"no vendor image of CUDA {place.cuda} {'fits' if tags else 'is known'}"
    if tags & chosen.choice.alive:
        says = f"no vendor tag of CUDA {place.cuda} was seen itself, they follow from others"
    says += f": {place.source} on {place.os} instead"
    yield note("image-missing", "info", says, place.cite)


def wheels_without_nvcc(chosen: Chosen) -> Iterator[Finding]:
    """Wheels were asked for and hold no compiler for this toolkit: every other way by name."""
    target, table, place = chosen.target, chosen.table, chosen.choice.place
    row = next((w for w in table.matrices.wheels if w.cuda == place.cuda), None)
    if row is None or row.nvcc or place.kind == "framework" or target.source != "wheels":
        return
    with_nvcc = chosen.choice.alive & table.of_kind["compiler"]
    ways = [str(s) for s, mask in table.of_source.items() if with_nvcc & mask]
    ways += ["a container (--where image)"] if target.where == "host" else []
    says = (
        f"the wheels of CUDA {row.cuda} have no nvcc, only NVRTC for device code; "
        f"ways with a compiler: {', '.join(ways) or 'none'}"
    )
    yield note("wheels-without-nvcc", "warn", says, cite(row, row.release))


def ptx_left_out(chosen: Chosen) -> Iterator[Finding]:
    """PTX is left out where the last driver cannot compile it."""
    for row in chosen.capabilities:
        cuda = chosen.choice.place.cuda
        if chosen.codes and not drivers.last_compiles(chosen.table, row, cuda):
            says = (
                f"{row.arch} ({row.cc}) gets finished code only: R{row.last_branch}, its last "
                f"driver, cannot compile the PTX of CUDA {cuda}"
            )
            yield note("ptx-left-out", "info", says, cite(row, row.cc))
            return


def arch_specific(chosen: Chosen) -> Iterator[Finding]:
    """'a' and 'f' code runs on one chip or family and has no PTX for later ones."""
    special = [code.target for code in chosen.codes if not code.target.isdigit()]
    if special:
        names = ", ".join(f"sm_{t}" for t in special)
        says = f"{names}: code for this chip (a) or family (f) alone, without PTX for later cards"
        toolkit = chosen.table.toolkits[chosen.choice.place.cuda]
        yield note("arch-specific", "watch", says, cite(toolkit, toolkit.cuda))


def jit_level(chosen: Chosen) -> Iterator[Finding]:
    """With no driver known: who can use the PTX beside the finished code."""
    toolkit = chosen.table.toolkits.get(chosen.choice.place.cuda)
    known = chosen.target.driver_cuda is not None
    if toolkit is None or known or not any(code.ptx for code in chosen.codes):
        return
    says = (
        f"a driver below the level of CUDA {toolkit.cuda} runs the finished code, "
        "but cannot compile the PTX beside it: cards that are not named need it"
    )
    yield note("ptx-level", "info", says, cite(toolkit, toolkit.cuda))


def tensor_cores_by_die(chosen: Chosen) -> Iterator[Finding]:
    """Where one compute capability is two things: with tensor cores and without."""
    mixed = [
        (card, row)
        for card in chosen.target.cards
        if (row := chosen.table.capability(card.cc)).no_tensor_cores
    ]
    for card, row in mixed:
        if card.tensor_cores is False:
            name = card.name or "this card"
            says = f"{name} has no tensor cores, unlike most cards of cc {card.cc}"
            yield note("tensor-cores-none", "info", says, cite(row, row.cc))
    if not {"tensor-cores", "int8"} & set(chosen.target.features):
        return
    for row in dict.fromkeys(row for card, row in mixed if card.tensor_cores is None):
        says = (
            f"{row.no_tensor_cores} are cc {row.cc} without tensor cores, "
            "although their code assembles: name the GPU (--gpu)"
        )
        yield note("tensor-cores-by-die", "watch", says, cite(row, row.cc))


def distro_driver(chosen: Chosen) -> Iterator[Finding]:
    """A distribution's toolkit drags driver libraries in."""
    place = chosen.choice.place
    if isinstance(place.row, DistroToolkit) and place.os is not None:
        says = (
            "the distribution's toolkit depends on driver libraries; "
            "a placeholder package keeps them out of the image"
        )
        yield note("distro-driver", "info", says, place.cite)


def one_prefix(chosen: Chosen) -> Iterator[Finding]:
    """One wheel prefix, one release."""
    place, build = chosen.choice.place, chosen.choice.build
    if isinstance(place.row, WheelToolkit) and build is not None:
        says = (
            f"the toolkit's patch release is the one that torch {build.torch} pins: "
            "one prefix holds one release"
        )
        yield note("one-prefix", "info", says, place.cite)
