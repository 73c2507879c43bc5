"""The Fabric Manager, which joins GPUs behind NVSwitches: what it lacks, and how it gets there."""

from envbuild.host.access import release
from envbuild.host.fabric import SERVICE, Fabric
from envbuild.values.finding import Step
from envbuild.values.host import Tool

_UNNUMBERED = 580
"""First branch whose package in the vendor's repository has no branch behind its name."""


def lack(fabric: Fabric, driver: str | None) -> str:
    """What is known to be wrong with it, as the end of a sentence; empty = nothing is known.

    Args:
        fabric: the machine's fabric.
        driver: version of its driver, where there is one.
    """
    version = release(Tool(name=SERVICE, version=fabric.package))
    if version is not None and driver is not None and version != driver:
        return f"the Fabric Manager {version} is not of the driver's version {driver}"
    if fabric.state is not None and fabric.state != "active":
        if fabric.state:
            return f"{SERVICE} is {fabric.state}"
        return "the Fabric Manager is not installed"
    return "its GPUs wait to be joined" if fabric.waits else ""


def look() -> Step:
    """See whether the GPUs are joined."""
    return Step(
        why="see whether the GPUs are joined already; where they are, nothing is to do",
        argv=("sh", "-c", f"nvidia-smi -q | grep -A2 -w Fabric; systemctl is-active {SERVICE}"),
        check="State: Completed; A100 and older have no state, there: active",
    )


def steps(fabric: Fabric, driver: str | None) -> tuple[Step, ...]:
    """Install it where it is not there or not of the driver's version, start it, see why not."""
    # A record may hold anything for a version, and what is one goes into a command.
    driver = release(Tool(name="driver", version=driver))
    start = Step(
        why="it joins the GPUs through the switches, now and at each start",
        argv=("sudo", "systemctl", "enable", "--now", SERVICE),
        check="nvidia-smi -q: Fabric, State: Completed",
    )
    said = Step(
        why="where it ends again, it says why",
        argv=("sudo", "journalctl", "-u", SERVICE, "-n", "50"),
        check="no line with an error",
    )
    version = release(Tool(name=SERVICE, version=fabric.package))
    fits = version is None or driver is None or version == driver
    if fabric.state and fits:
        return (start, said)
    return (*_install(fabric, driver), start)


def _install(fabric: Fabric, driver: str | None) -> tuple[Step, ...]:
    """From where the driver is from, in exactly its version."""
    why = "it works with the driver of its own version alone"
    wanted = driver or "the driver's version (cat /sys/module/nvidia/version)"
    check = f"nv-fabricmanager --version: {driver or 'the version of the driver'}"
    beside = " and nvlsm" if fabric.subnet else ""
    if driver is None or not (fabric.os or "").startswith(("ubuntu", "debian")):
        text = f"install the package {SERVICE} of version {wanted}{beside}, from where the driver "
        text += "is from; some archives have the branch behind its name"
        return (Step(why=why, text=text, check=check),)
    more = " nvlsm" if fabric.subnet else ""
    branch = driver.partition(".")[0]
    names = [f"{SERVICE}-{branch}"]
    if int(branch) >= _UNNUMBERED:
        names.insert(0, SERVICE)
    tries = (f"apt-get install -y --allow-downgrades '{n}={driver}*'{more}" for n in names)
    return (Step(why=why, argv=("sudo", "sh", "-c", " || ".join(tries)), check=check),)
