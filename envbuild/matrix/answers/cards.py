"""Compute capabilities, products and the drivers that drive them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envbuild.errors import InputError
from envbuild.matrix.answers.common import capability as row_of
from envbuild.matrix.answers.common import ordered, serving, table, toolkits, words
from envbuild.matrix.load import load, load_names, load_reference
from envbuild.matrix.model import Capability, Product, TorchBuild
from envbuild.matrix.names import ccs, die_of_pci, product
from envbuild.matrix.show import Line, line, unknown
from envbuild.planner.ranges import numbers

if TYPE_CHECKING:
    from envbuild.matrix.model.reference import Limit, Rate, Tool

_SOME = 12  # products of a cc that are named


def capability(cc: str) -> Iterator[Line]:
    """All that is known of one compute capability."""
    row = row_of(cc)
    yield line("what", _what(row), "capabilities", cc, row)
    yield from _making(row)
    yield from _driving(row)
    yield from _builds(cc)
    for limit in load_reference().limits:
        if limit.cc == cc:
            yield line("sizes", _sizes(limit), "limits", cc, limit)
    for rate in load_reference().rates:
        if rate.cc == cc:
            yield line("rates", _rate(rate), "rates", f"{cc}-{rate.unit}-{rate.dtype}", rate)
    for one in load_reference().tools:
        if _in_range(cc, one.cc_min, one.cc_max) and not one.platform and _meets(row, one):
            releases = words([one.since and f"from {one.since}", one.until and f"to {one.until}"])
            says = words([f"{one.tool} {releases}".strip(), one.needs])
            yield line("tools", says, "tools", one.tool, one)
    for ngc in load_reference().ngc:
        if ngc.cc_min and _in_range(cc, ngc.cc_min, None):
            yield line("ngc", f"{ngc.tag}: cc {ngc.cc_min} and newer", "ngc", ngc.tag, ngc)
    yield from _products(cc)


def gpu(text: str) -> Iterator[Line]:
    """A product by name, or a PCI id.

    Raises:
        InputError: neither is known; offers the nearest names.
    """
    die = die_of_pci(text) if ":" in text or text.startswith("0x") else None
    if die is not None:
        yield line("die", f"{die.die}, cc {die.cc}", "dies", die.die, die)
        device = text.strip().lower().rpartition(":")[2].removeprefix("0x")
        rows = tuple(p for p in load_names().products if device in p.pci_ids)
        found: tuple[str, ...] = (die.cc,)
    else:
        rows = product(text)
        found = ccs(rows)
    for row in rows:
        yield line("what", _product(row), "products", row.name, row)
    if len(found) > 1:
        one = rows[0]
        says = (
            f"the name alone does not tell: {' or '.join(found)}. "
            "nvidia-smi --query-gpu=compute_cap prints it, or ask with the PCI id (lspci -nn)"
        )
        yield line("which", says, "products", one.name, one)
    for cc in found:
        known = table().capabilities.get(cc)
        if known is not None:
            yield line(f"cc {cc}", _what(known), "capabilities", cc, known)
            yield from _making(known)
            yield from _driving(known)
            yield from _builds(cc)


def driver(text: str, cc: str) -> Iterator[Line]:
    """A driver branch, or a release of it: its level, its cards, its end.

    Raises:
        InputError: no branch of these matrices.
    """
    version = text.strip().lower().removeprefix("r")
    try:
        branch = numbers(version)[0]
    except InputError as e:
        raise unknown("--driver", text, [str(b.branch) for b in load().branches]) from e
    row = next((b for b in load().branches if b.branch == branch), None)
    if row is None:
        raise unknown("--driver", text, [str(b.branch) for b in load().branches])
    says = words(
        [
            f"R{row.branch}",
            row.kind,
            f"CUDA level {row.cuda}" if row.cuda else "its CUDA level is not sourced",
            f"newest seen {row.newest}" if row.newest else "",
            f"kernel modules {' and '.join(row.modules)}",
        ]
    )
    yield line("what", says, "branches", str(branch), row)
    yield line("ends", row.ends or "no end of it is sourced", "branches", str(branch), row)
    for one in load().capabilities:
        if not one.tegra and (not cc or one.cc == cc):
            drives, says = _drives(one, version)
            if drives or cc:
                yield line("drives" if drives else "not", says, "capabilities", one.cc, one)
    yield from _levels(version, branch)
    for package in load_reference().driver_packages:
        if _in_range(str(branch), _text(package.branch_min), _text(package.branch_max)):
            ways = [w.format(branch=branch) for w in (package.open, package.proprietary) if w]
            held = [h for h in (package.pin, package.stream_open, package.stream_proprietary) if h]
            says = f"{package.os}: {' or '.join(ways) or 'the .run installer'}"
            says += f"; held by {' or '.join(held).format(branch=branch)}" if held else ""
            yield line("packages", says, "driver_packages", package.os, package)


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)


def _in_range(value: str, low: str | None, high: str | None) -> bool:
    at = numbers(value)
    return (low is None or at >= numbers(low)) and (high is None or at <= numbers(high))


def _meets(row: Capability, tool: "Tool") -> bool:
    """A toolkit that makes code for this cc carries a release of the tool."""
    makes = [k.cuda for k in load().toolkits if {row.target, *row.aliases} & set(k.targets)]
    return any(_in_range(cuda, tool.cuda_min, tool.cuda_max) for cuda in makes)


def _what(row: Capability) -> str:
    targets = words([f"sm_{row.target}", *(f"sm_{a} in older toolkits" for a in row.aliases)])
    parts = [row.arch, targets, "integrated, its driver comes with L4T" if row.tegra else ""]
    parts.append(f"with an {row.cpu} CPU" if row.cpu and not row.tegra else "")
    parts.append(f"no tensor cores: {row.no_tensor_cores}" if row.no_tensor_cores else "")
    parts.append(f"has {', '.join(row.features)}" if row.features else "")
    parts.append(f"counters: {row.profiler}" if row.profiler else "")
    return words(parts)


def _making(row: Capability) -> Iterator[Line]:
    """Which toolkits assemble its targets."""
    names = {row.target, *row.aliases}
    targets = ordered_targets(t for k in load().toolkits for t in k.targets)
    for target in targets:
        if target.rstrip("af") in names:
            having = [k for k in load().toolkits if target in k.targets]
            says = f"sm_{target}: {toolkits(k.cuda for k in having)}"
            yield line("toolkits", says, "toolkits", having[-1].cuda, having[-1], note=False)
    if not any(names & set(k.targets) for k in load().toolkits):
        says = f"none of these; the last was {row.last_toolkit}" if row.last_toolkit else "none"
        yield line("toolkits", says, "capabilities", row.cc, row)


def ordered_targets(targets: Iterator[str]) -> list[str]:
    """Targets, each once: ``90``, ``90a``, ``100`` ..."""
    return sorted(set(targets), key=lambda t: (int(t.rstrip("af")), t))


def _driving(row: Capability) -> Iterator[Line]:
    if row.tegra:
        return
    parts = [f"from {row.first_driver} on" if row.first_driver else ""]
    if row.last_branch is None:
        parts.append("no last branch is announced")
    else:
        branch = next((b for b in load().branches if b.branch == row.last_branch), None)
        end = f", until {branch.ends}" if branch is not None and branch.ends else ""
        parts.append(f"R{row.last_branch} is the last branch{end}")
    parts.append("open or proprietary" if row.module == "either" else f"{row.module} module only")
    yield line("driver", words(parts), "capabilities", row.cc, row)


def _builds(cc: str) -> Iterator[Line]:
    """For each index and CPU: the torch releases with code for it."""
    groups: dict[tuple[str, str], list[TorchBuild]] = {}
    for build in load().torch:
        if build.cuda and serving(build, cc):
            groups.setdefault((build.index, build.arch), []).append(build)
    if not groups:
        row = row_of(cc)
        yield line("torch", "no build of these matrices has code for it", "capabilities", cc, row)
    for (index, arch), builds in groups.items():
        releases = ordered(b.torch for b in builds)
        newest = next(b for b in builds if b.torch == releases[-1])
        span = releases[0] if len(releases) == 1 else f"{releases[0]} to {releases[-1]}"
        codes = " ".join(f"sm_{t}" for t in serving(newest, cc))
        says = f"{span} from {index} ({arch}): their {codes} runs on it"
        yield line("torch", says, "torch", f"{newest.torch}-{index}", newest, note=False)


def _sizes(row: "Limit") -> str:
    fields = (
        ("smem_sm", "KiB shared memory an SM"),
        ("smem_block", "KiB a block"),
        ("threads_sm", "threads"),
        ("blocks_sm", "blocks an SM"),
        ("fp64", "double to single precision"),
    )
    return words(f"{v} {unit}" for name, unit in fields if (v := getattr(row, name)) is not None)


def _rate(row: "Rate") -> str:
    summed = f" summed in {row.accumulate}" if row.accumulate else ""
    half = f", half on {' and '.join(row.half_on)}" if row.half_on else ""
    return f"{row.unit} {row.dtype}{summed}: {row.per_sm_clock} operations an SM and clock{half}"


def _products(cc: str) -> Iterator[Line]:
    rows = [p for p in load_names().products if cc in ccs((p,))]
    if rows:
        more = f" and {len(rows) - _SOME} more" if len(rows) > _SOME else ""
        says = f"{', '.join(p.name for p in rows[:_SOME])}{more}"
        yield line("products", says, "products", rows[0].name, rows[0])


def _product(row: Product) -> str:
    cc = f"cc {row.cc}" if row.cc else "cc by chip: "
    cc += ", ".join(f"{die} {one}" for die, one in row.by_die)
    tensor = {False: "no tensor cores", True: "tensor cores", None: ""}[row.tensor_cores]
    forward = {True: "forward compatibility", False: "no forward compatibility", None: ""}
    return words(
        [
            row.name,
            cc,
            f"{' '.join(row.dies)} ({' '.join(row.pci_ids)})" if row.pci_ids else "",
            tensor,
            forward[row.forward_compat],
            f"first listed by driver {row.first_driver}" if row.first_driver else "",
            f"open modules list it from {row.open_from} on" if row.open_from else "",
        ]
    )


def _drives(row: Capability, version: str) -> tuple[bool, str]:
    name = f"{row.cc} {row.arch}"
    branch = numbers(version)[0]
    if row.last_branch is not None and branch > row.last_branch:
        return False, f"{name}: R{row.last_branch} was its last branch"
    first = numbers(row.first_driver) if row.first_driver else (0,)
    at = numbers(version)
    if at < first[: len(at)]:
        return False, f"{name}: from {row.first_driver} on"
    module = "" if row.module == "either" else f", {row.module} module only"
    return True, f"{name}{module}"


def _levels(version: str, branch: int) -> Iterator[Line]:
    """Which toolkits it runs: with JIT, and by minor-version compatibility."""
    row = next(b for b in load().branches if b.branch == branch)
    jit = [k for k in load().toolkits if row.cuda and numbers(k.cuda) <= numbers(row.cuda)]
    if jit:
        says = f"runs what {toolkits(k.cuda for k in jit)} make, PTX too"
        yield line("toolkits", says, "toolkits", jit[-1].cuda, jit[-1], note=False)
    for floor in load().floors:
        at = numbers(version)
        newer = [
            k.cuda
            for k in load().toolkits
            if numbers(k.cuda)[0] == floor.major
            and k not in jit
            and at >= numbers(floor.linux)[: len(at)]
        ]
        if newer:
            says = f"runs finished code of {toolkits(newer)} (needs {floor.linux}), not their PTX"
            yield line("toolkits", says, "floors", str(floor.major), floor)
