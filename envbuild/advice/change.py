"""What to change to, asked of the planner: a build, a toolkit or a driver for this card."""

from collections.abc import Iterator

from envbuild.advice.planned import planned
from envbuild.advice.scene import Scene
from envbuild.values.codec import Value, replace
from envbuild.values.finding import Step
from envbuild.values.host import Host
from envbuild.values.plan import Plan


class Wanted(Value):
    """What a plan is asked for.

    Attributes:
        cc: the capability that it is about; None = whatever the machine has.
        framework: torch is wanted, in ``version`` where that can be.
        packages: further wishes.
    """

    scene: Scene
    cc: str | None = None
    framework: bool = False
    version: str | None = None
    packages: tuple[str, ...] = ()

    @property
    def host(self) -> Host | None:
        """The machine; None where the log is about a card that it does not have."""
        own = {row.cc for _, row in self.scene.chips}
        return self.scene.host if self.cc is None or self.cc in own else None

    def plan(self, *more: str, **changes: object) -> Plan | None:
        """The plan, None where there is none to be had."""
        cc = (self.cc,) if self.cc is not None else ()
        wishes = (*self.packages, *more)
        made = planned(self.host, wishes, **({"cc": cc} | changes))
        return made if made is not None and made.outcome != "refuse" else None


def torch_steps(wanted: Wanted) -> Iterator[Step]:
    """The build of torch that has code for the card and runs on the driver in hand.

    The release that is there is kept where a variant of it does.
    """
    if not wanted.framework:
        return
    same = wanted.plan(f"torch=={wanted.version}") if wanted.version else None
    plan = same or wanted.plan("torch")
    if plan is None or plan.torch is None:
        return
    torch = plan.torch
    kept = "the same release" if same else f"torch {torch.version}"
    index = ("--index-url", torch.index_url) if torch.index_url else ()
    yield Step(
        why=f"{kept}, from the index {torch.index}: its build has code for the card and runs on "
        f"{_on(plan, wanted)}",
        argv=("pip", "install", f"torch=={torch.version}", *index),
        check='python -c "import torch; print(torch.cuda.get_arch_list())": the card is covered',
    )
    yield Step(
        why="the whole image for it: base, pins, driver",
        argv=("envbuild", "plan", *_flags(plan, wanted), "--torch", torch.version),
        check="envbuild certify --require torch",
    )


def driver_steps(wanted: Wanted, cuda: str | None = None) -> Iterator[Step]:
    """The driver to change to: one that still drives the card.

    Args:
        wanted: what is to run.
        cuda: the toolkit that the driver is to serve; None = what the planner takes without the
            driver in hand.
    """
    wishes = (f"torch=={wanted.version}",) if wanted.version else ()
    wishes = wishes or (("torch",) if wanted.framework else ())
    host = wanted.host
    free = replace(host, driver=None) if host is not None else None
    loose = Wanted(
        scene=replace(wanted.scene, host=free) if free is not None else wanted.scene,
        cc=wanted.cc,
        packages=wanted.packages,
    )
    plan = loose.plan(*wishes, cuda=cuda) or loose.plan(cuda=cuda)
    need = plan.driver[0] if plan is not None and plan.driver else None
    version = (need.recommended or need.min) if need is not None else None
    if need is None or version is None:
        return
    ends = f"; R{need.last_branch} is the last branch that drives it" if need.last_branch else ""
    if wanted.scene.wsl2:
        yield Step(
            why="the driver of WSL is that of Windows",
            text=f"or, on Windows, install driver {version} or newer{ends}",
            check="/usr/lib/wsl/lib/nvidia-smi shows it",
        )
        return
    module = f", {need.module} kernel modules" if need.module in {"open", "proprietary"} else ""
    yield Step(
        why=f"or change the driver to {version}{module}{ends}",
        argv=("envbuild", "setup", "auto"),
        check=f"nvidia-smi shows {version.partition('.')[0]}",
    )


def _on(plan: Plan, wanted: Wanted) -> str:
    host = wanted.host
    driver = host.driver.version if host is not None and host.driver else None
    least = next((need.min for need in plan.driver if need.min), None)
    return f"driver {driver}" if driver else f"driver {least} or newer" if least else "its driver"


def _flags(plan: Plan, wanted: Wanted) -> tuple[str, ...]:
    """The cc where the machine does not tell it."""
    return () if wanted.host is not None and wanted.scene.host.gpus else ("--cc", *plan.cc[:1])
