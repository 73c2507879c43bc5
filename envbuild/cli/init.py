"""``envbuild init``: write ``envbuild.yaml``, the request of a project, from flags or a machine."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from envbuild.cli import show
from envbuild.cli.options import OutputFlags, RequestFlags, expand
from envbuild.cli.source import REQUEST, plans
from envbuild.errors import InputError
from envbuild.values.codec import replace
from envbuild.values.request import Request, Wish

if TYPE_CHECKING:
    from envbuild.planner.target import Target
    from envbuild.values.plan import Fleet, Plan

_HEAD = (
    "What this project asks of CUDA: envbuild plan, lock, render, build and up take this file.",
    "A key is a flag of `envbuild plan --help`; on the command line, the flag itself wins.",
)
_WHY = {
    "cc": "the GPUs to run on, facts: no plan leaves one out",
    "gpu": "the GPUs to run on, facts: no plan leaves one out",
    "driver": "a fact: a plan must run on it; without this line it states the driver that it needs",
    "cuda": "the toolkits that will do; 13 means 13.*",
    "torch": "2.8 means 2.8.*; its wheels decide the toolkit",
    "with": "other packages, each with the card and the toolkit that it serves",
    "feature": "what is used of the GPU, or compiled for it",
    "base-os": "the system inside the image",
    "arch": "of the machine's processor; decides which wheels and images there are",
    "platform": "where it runs: decides driver, packages and GPU flags",
    "l4t": "the Jetson's release, which brings driver and CUDA",
    "glibc": "of the machine: its headers and CUDA's must agree",
    "gcc": "of the machine: each toolkit takes gcc up to a version",
    "where": "host = on the machine itself, image = in a container",
    "flavour": "devel has the compiler, runtime and base are smaller",
    "toolkit-source": "a preference: where CUDA comes from",
    "as-of": "the day at which support is judged; without it, that of the matrices",
    "split": "several images will do where one cannot serve all",
}


@expand
def command(
    *,
    request: RequestFlags,
    output: OutputFlags,
    out: Annotated[
        str, typer.Option("-o", "--output", help="The file to write; - is standard output.")
    ] = REQUEST,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> int:
    """Write what a project asks for, from flags or this machine; refused where nothing has it."""
    from envbuild.cli.plan import target_of
    from envbuild.cli.source import accepted
    from envbuild.matrix.load import load
    from envbuild.planner.plan import plan

    show.one_output(out, as_json=output.json)
    if out != "-" and Path(out).is_file() and not force:
        what = f"{out} is there already"
        raise InputError(what, fix="edit it, choose another name with -o, or give --force")
    target = target_of(request)
    made = accepted(plan(target, load()), out)
    asked = _asked(target)
    show.write(out, text(asked, (*_HEAD, *_answer(made), *_seen(target))).encode())
    if output.json:
        show.json({"file": out, "request": asked})
    elif out != "-":
        show.result(out)
        show.note(f"next  envbuild plan {show.command([out])}")
    return 0


def text(request: Request, head: tuple[str, ...] = _HEAD) -> str:
    """The file of a request: reads back as the same request.

    Args:
        request: what is asked for.
        head: comment lines at the top, each without a line break.
    """
    import yaml

    lines = [f"# {line}" for line in head]
    for key, value in _entries(request):
        # Quotes keep every reader from making numbers of versions (2.10 is not 2.1).
        quoted = yaml.safe_dump(
            value, default_style=None if value is True else '"', default_flow_style=True,
            allow_unicode=True, width=1 << 20,
        )  # fmt: skip
        lines += ["", f"# {_WHY[key]}", f"{key}: {quoted.splitlines()[0]}"]
    return "\n".join(lines) + "\n"


def _entries(request: Request) -> Iterator[tuple[str, str | bool | list[str]]]:
    """Key and value of each line, in the order of the flags."""
    *others, last = request.packages or (Wish(name=""),)
    # Only the last wish can have come from --torch, which stands behind --with.
    torch = last.range if last.name == "torch" and last.range[:1] in set("<>=!~") else None
    packages = others if torch is not None else list(request.packages)
    if torch is not None and torch[2:3].isdigit():
        torch = torch.removeprefix("==")
    pairs: dict[str, str | bool | tuple[str, ...] | None] = {
        "cc": request.cc,
        "gpu": request.gpus,
        "driver": request.driver,
        "cuda": request.cuda,
        "torch": torch,
        "with": tuple(f"{wish.name}{wish.range}" for wish in packages),
        "feature": request.features,
        "base-os": request.base_os,
        "arch": request.arch,
        "platform": request.platform,
        "l4t": request.l4t,
        "glibc": request.glibc,
        "gcc": request.gcc,
        "where": request.where,
        "flavour": request.flavour,
        "toolkit-source": request.toolkit_source,
        "as-of": request.as_of,
        "split": request.split or None,
    }
    for key, value in pairs.items():
        if isinstance(value, tuple):
            if value:
                yield key, value[0] if len(value) == 1 else list(value)
        elif value is not None:
            yield key, value


def _asked(target: "Target") -> Request:
    """The request as it was given; what a machine added becomes a part of it."""
    if target.declared:
        return target.request
    from envbuild.planner.spell import as_request

    asked = replace(as_request(target), l4t=target.l4t)
    if target.request.cc or target.request.gpus:
        return asked
    # A name says more than its cc (brand, tensor cores, module), where it is that of one product.
    names = tuple(
        card.name for card in target.cards if card.name and _one_product(card.name, card.cc)
    )
    rest = tuple(dict.fromkeys(card.cc for card in target.cards if card.name not in names))
    return replace(asked, gpus=names, cc=rest)


def _one_product(name: str, cc: str) -> bool:
    from envbuild.matrix import names

    try:
        return "," not in name and names.ccs(names.product(name)) == (cc,)
    except InputError:
        return False


def _seen(target: "Target") -> Iterator[str]:
    """Which machine the facts are from."""
    if target.declared:
        return
    cards = ", ".join(f"{card.name or 'a GPU'} (cc {card.cc})" for card in target.cards)
    origin = next((p.origin for p in target.provenance if p.origin != "flag"), "detected")
    where = "a recorded machine" if origin == "recorded" else "this machine"
    line = f"From {where}: {cards or 'no GPU'}, driver {target.driver or 'not known'}."
    yield show.clean(" ".join(line.split()))


def _answer(made: "Plan | Fleet") -> Iterator[str]:
    """What the request got on the day that it was written."""
    for plan in plans(made):
        place = f" on {plan.image.os}" if plan.image.os else ""
        torch = f", torch {plan.torch.version} ({plan.torch.index})" if plan.torch else ""
        yield (
            f"Matrices of {plan.matrix.date}: CUDA {plan.cuda} from {plan.toolkit_source}"
            f"{place}{torch}, for cc {', '.join(plan.cc) or 'any'}."
        )
