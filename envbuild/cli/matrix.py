"""``envbuild matrix``: ask the facts, check them against the vendors' packages, find new ones."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from envbuild.cli import show
from envbuild.cli.options import IndexFlags, OutputFlags, expand

if TYPE_CHECKING:
    from envbuild.matrix.vendor.report import Report

group = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None)

Only = Annotated[
    list[str] | None,
    typer.Option("--only", help="toolkits, frameworks, or one table; may be given again."),
]
Work = Annotated[
    str, typer.Option("--work", help="Folder of what was read; the next run goes on from it.")
]
_WORK = ".envbuild/matrix"


@group.callback()
def about() -> None:
    """Ask the facts, check them against the vendors' packages, find new ones."""


@group.command("show")
@expand
def show_(
    *,
    output: OutputFlags,
    cc: Annotated[str, typer.Option("--cc", help="A card: 6.1, sm_61; narrows the others.")] = "",
    gpu: Annotated[str, typer.Option("--gpu", help="A product, or a PCI id (10de:1b06).")] = "",
    cuda: Annotated[str, typer.Option("--cuda", help="A toolkit: 12.9 or 12.9.1.")] = "",
    torch: Annotated[str, typer.Option("--torch", help="A release: 2.14 or 2.14.1.")] = "",
    driver: Annotated[str, typer.Option("--driver", help="A branch or release: 580.")] = "",
    with_: Annotated[str, typer.Option("--with", help="A package: cupy, jax, cudnn ...")] = "",
    base_os: Annotated[str, typer.Option("--base-os", help="A system: ubuntu24.04 ...")] = "",
    l4t: Annotated[str, typer.Option("--l4t", help="A Jetson release: r36.4.")] = "",
    engine: Annotated[str, typer.Option("--engine", help="docker, podman ...")] = "",
    tool: Annotated[str, typer.Option("--tool", help="ncu, nvprof, cuda-gdb ...")] = "",
    gcc: Annotated[str, typer.Option("--gcc", help="A compiler in hand: 14.")] = "",
    python: Annotated[str, typer.Option("--python", help="A Python in hand: 3.13.")] = "",
    wsl: Annotated[bool, typer.Option("--wsl", help="What WSL 2 needs.")] = False,
) -> int:
    """Answer plain questions, each line with its source and status."""
    from envbuild.matrix.show import Question, ask, text

    question = Question(
        cc=cc,
        gpu=gpu,
        cuda=cuda,
        torch=torch,
        driver=driver,
        package=with_,
        os=base_os,
        l4t=l4t,
        engine=engine,
        tool=tool,
        gcc=gcc,
        python=python,
        wsl=wsl,
    )
    answer = ask(question)
    if output.json:
        show.json(answer)
    else:
        show.result("\n".join(text(answer, show.paint)))
    return 0


@group.command("verify")
@expand
def verify(
    *,
    net: IndexFlags,
    output: OutputFlags,
    only: Only = None,
    work: Work = _WORK,
    out: Annotated[
        list[str] | None,
        typer.Option(
            "-o",
            "--output",
            help="Write the report: .json, .md, else a plain table; - is standard output.",
        ),
    ] = None,
) -> int:
    """Measure the rows in the vendors' own packages, fetched one at a time (7 = a row differs)."""
    from envbuild.matrix.vendor import report as forms
    from envbuild.matrix.vendor.verify import verify as run

    for path in out or ():
        show.one_output(path, as_json=output.json)
    found = run(_words(only), Path(work), net.net(), show.note)
    for path in out or ():
        show.write(path, _form(found, path))
    if output.json:
        show.json(found)
    elif "-" not in (out or ()):
        show.result(forms.text(found))
    for line in found.failed:
        show.warn(f"did not come: {line}")
    if found.counts.differs:
        return 7
    return 4 if found.failed else 0


@group.command("update")
@expand
def update(
    *,
    net: IndexFlags,
    output: OutputFlags,
    only: Only = None,
    work: Work = _WORK,
    out: Annotated[
        str, typer.Option("-o", "--output", help="The YAML file to write; - is standard output.")
    ] = "matrix-update.yaml",
) -> int:
    """Measure the releases that the rows lack, and write rows to review; no row is changed."""
    from envbuild.matrix.vendor.update import text
    from envbuild.matrix.vendor.update import update as run

    # Its YAML is for review, its JSON for programs: where both would go to the stream, JSON does.
    found = run(_words(only), Path(work), net.net(), show.note)
    if not (out == "-" and output.json):
        show.write(out, text(found).encode())
    if out != "-":
        show.note(f"{len(found.rows)} new rows in {out}, {len(found.skipped)} releases left out")
    if output.json:
        show.json(found)
    return 0


def _form(found: "Report", path: str) -> bytes:
    from envbuild.matrix.vendor import report as forms
    from envbuild.values.codec import dump

    if path.endswith(".json"):
        return dump(found)
    if path.endswith(".md"):
        return forms.markdown(found).encode()
    return (forms.text(found) + "\n").encode()


def _words(values: list[str] | None) -> tuple[str, ...]:
    """The words of ``--only``; an empty one stays, and is refused as not known."""
    return tuple(word.strip() for value in values or () for word in value.split(","))
