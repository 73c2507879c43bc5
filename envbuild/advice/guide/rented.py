"""A rented GPU, which is a container itself: no driver to change, no engine, often no root."""

from envbuild.advice.fixes import proof
from envbuild.advice.guide import toolkit
from envbuild.advice.guide.base import DRIVER_VERSION, Case, Make, fits, state, within
from envbuild.values.finding import Step
from envbuild.values.guide import Section


def driver(case: Case) -> Section:
    """The driver that the provider has: a fact."""
    least = case.least_driver
    here = _driver(case)
    return Section(
        id="driver",
        title=f"The provider's driver serves the plan: {least or 'any'} or newer",
        why="it belongs to the machine outside this container: nothing in here can change it",
        steps=(
            Step(
                why="look at what there is",
                argv=("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv"),
                check="the card that was paid for, and its driver",
            ),
            Step(
                why="the plan must fit the driver, not the driver the plan",
                text="with an older driver plan for that one: envbuild plan --driver VERSION; or "
                "rent another machine",
                check="envbuild plan: ok",
            ),
        ),
        test=within(case, f'"$({DRIVER_VERSION})"'),
        fails="no nvidia-smi, or no device: the provider gave this container no GPU: ask there",
        state=state(fits(here, case)),
        seen=f"driver {here}" if here else "",
        source="floors sourced",
    )


def local(case: Case) -> Section:
    """A private toolkit folder, by the local engine."""
    wanted = ("--cc", ",".join(case.plan.cc)) if case.plan.cc else ()
    run = ("envbuild", "up", "--engine", "local", *wanted)
    return Section(
        id="local",
        title="A toolkit in a folder of your own, and a kernel of it ran right",
        why="without docker and without root: the local engine takes a toolkit that is here, else "
        "fetches one by hash into a private folder, and the suite 'smoke' checks every CUDA call",
        steps=(
            Step(
                why="plan, lock, build and certify; it goes on where it stopped",
                argv=run,
                check="CERTIFIED smoke",
            ),
        ),
        test=proof.CERTIFIED,
        fails="the exit code says whose it is: 3 no toolkit fits this driver, 4 the machine or the "
        "network, 5 the build",
        source="toolkits sourced",
    )


def counters(case: Case) -> Section:
    """What a provider grants seldom: look before you pay for hours."""
    del case
    params = "/proc/driver/nvidia/params"
    return Section(
        id="counters",
        title="The provider opens performance counters (for ncu)",
        why="counters are for the machine's root unless the provider opens them: try it before "
        "renting for days; traces of nsys need no rights",
        steps=(
            Step(
                why="0 = open for all, 1 = only for root outside this container",
                argv=("grep", "RmProfilingAdminOnly", params),
                check="RmProfilingAdminOnly: 0",
            ),
        ),
        test=f"grep -qx 'RmProfilingAdminOnly: 0' {params}",
        fails="ncu will end in ERR_NVGPUCTRPERM: ask the provider, nothing in here helps",
        optional=True,
        source="tools/cupti sourced",
    )


def hold(case: Case) -> Section | None:
    """A card whose drivers have ended: the provider must not go on."""
    last = case.last_branch
    if last is None:
        return None
    return Section(
        id="hold-provider",
        title=f"The provider's driver is of R{last} or older",
        why=f"newer branches than R{last} do not drive this card, and the pin is the provider's to "
        "set: look each time you rent",
        steps=(
            Step(
                why="the driver changes with the machine that you are given",
                text=f"rent machines whose driver is R{last} or older, and say so when you ask",
                check=f"nvidia-smi: a driver of R{last} or older",
            ),
        ),
        test=within(case, f'"$({DRIVER_VERSION})"'),
        fails=f"the machine has a driver after R{last}: the card cannot be used there",
        state=state(fits(_driver(case), case)),
        source=f"branches/{last} sourced",
    )


def _driver(case: Case) -> str | None:
    here = case.host.driver if case.host is not None else None
    return here.version if here is not None else None


SECTIONS: tuple[Make, ...] = (driver, local, toolkit.torch, counters, hold)
