"""``envbuild run``: start an image with the GPU flags of this engine and host."""

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from envbuild.cli import show
from envbuild.cli.options import OutputFlags, PullFlags, expand
from envbuild.errors import InputError

if TYPE_CHECKING:
    from envbuild.io.workspace import Workspace

_ARGV = "envbuild.argv"


class Command(TyperCommand):
    """Keeps what follows ``--`` apart, so that ``run -- CMD`` names no image."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401
        """Parse what stands before ``--``; remember the rest as the command."""
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[_ARGV] = args[at + 1 :]
        return super().parse_args(ctx, args[:at])


@expand
def command(
    *,
    ctx: typer.Context,
    net: PullFlags,
    output: OutputFlags,
    image: Annotated[
        str | None,
        typer.Argument(help="Image, OCI archive or local prefix; else the one built here."),
    ] = None,
    engine: Annotated[
        str | None, typer.Option("--engine", help="docker, podman, apptainer, local.")
    ] = None,
    access: Annotated[
        str | None,
        typer.Option("--access", help="GPU access: cdi, gpus, nvidia-runtime, native or none."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the exact command; start nothing.")
    ] = False,
) -> int:
    """Start an image with the right GPU flags; after `--` a command instead of its own.

    The exit code is the command's; where nothing could be started it is 6 for a fault of the image
    (a USER that it lacks), 4 for one of the machine.
    """
    from envbuild.engines.find import holding
    from envbuild.host.access import best_access, usable_gpu
    from envbuild.host.detect import this_machine
    from envbuild.io import workspace

    argv: list[str] = ctx.meta[_ARGV]
    space = workspace.here()
    ref = image or _built(space)
    found = holding(ref, engine)
    host = this_machine()
    mode = access or best_access(host, found.engine.name)
    if mode == "none" and not usable_gpu(host):
        show.warn("no NVIDIA GPU can be used on this machine: it starts without one")
    show.note(f"engine    {found.why}; GPU access: {mode}")
    step = found.engine.run_step(ref, argv, mode)
    if dry_run:
        show.json(step) if output.json else show.step(step)
        return 0
    if found.engine.inspect(ref) is None:
        found.engine.pull(ref, net.net())
    return found.engine.interactive(ref, argv, mode)


def _built(space: "Workspace") -> str:
    from envbuild.values.image import Image

    image = space.load(Image, "image.json")
    if image is None:
        what = f"no image is named, and {space.root} holds none"
        raise InputError(what, fix="envbuild run IMAGE, or envbuild build first")
    return image.ref
