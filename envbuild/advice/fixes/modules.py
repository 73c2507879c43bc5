"""Steps about kernel modules: build them, load them, keep others away, renew the start image."""

from envbuild.values.finding import Step

_FILE = "/etc/modprobe.d/envbuild-nouveau.conf"


def start_image(*, rpm: bool) -> Step:
    """The image from which modules are loaded at the start, which holds a copy of their options."""
    rebuild = ("dracut", "--force") if rpm else ("update-initramfs", "-u")
    return Step(
        why="the image that the machine starts from holds a copy of these files",
        argv=("sudo", *rebuild),
        check="no error",
    )


def restart(check: str) -> Step:
    """A start, after which modules are those on disk."""
    return Step(
        why="modules are taken from the disk when the machine starts",
        argv=("sudo", "systemctl", "reboot"),
        check=check,
    )


def who_holds() -> Step:
    """Which kernel driver has the card."""
    return Step(
        why="see which driver has the card",
        argv=("lspci", "-nnk", "-d", "10de:"),
        check="Kernel driver in use: nvidia; nvidia-smi -L: the card",
    )


def back_from_guest() -> Step:
    """A card that vfio-pci keeps for a virtual machine, taken back."""
    return Step(
        why="only if it is to be used here: give it back to the driver",
        text="take vfio-pci.ids out of the kernel's command line and of /etc/modprobe.d, "
        "and restart",
        check="lspci -nnk -d 10de: Kernel driver in use: nvidia",
    )


def load(check: str) -> Step:
    """Load the driver's module now."""
    return Step(
        why="load it now; what it says is the reason where it cannot",
        argv=("sudo", "modprobe", "nvidia"),
        check=check,
    )


def without_nouveau(*, rpm: bool) -> tuple[Step, ...]:
    """Keep the free driver from the card."""
    lines = "blacklist nouveau\\noptions nouveau modeset=0\\n"
    return (
        Step(
            why="one driver holds a card: nouveau must not be loaded at the start",
            argv=("sudo", "sh", "-c", f"printf '{lines}' > {_FILE}"),
            check=f"cat {_FILE}",
        ),
        start_image(rpm=rpm),
        restart("lsmod shows no nouveau, nvidia-smi the card"),
    )


def installer_without_nouveau() -> Step:
    """Keep the free driver away before the vendor's installer, which stops where it runs."""
    image = "if command -v dracut; then dracut --force; else update-initramfs -u; fi"
    lines = "blacklist nouveau\\noptions nouveau modeset=0\\n"
    do = f"printf '{lines}' > {_FILE}; {image}"
    return Step(
        why="the installer stops where nouveau, the free driver, runs; where it does not, nothing "
        "happens here",
        argv=("sudo", "sh", "-c", f"grep -qs '^nouveau ' /proc/modules || exit 0; {do}"),
        check="grep '^nouveau ' /proc/modules: nothing; where it is there, restart before the next "
        "step",
    )


def by_akmods() -> tuple[Step, ...]:
    """Build the module where akmods does it at the start, as packages of RPM Fusion have it."""
    return (
        Step(
            why="build what is missing for this kernel; a failed build names its log",
            argv=("sudo", "akmods", "--force"),
            check="modinfo -F version nvidia: the version",
        ),
        load("nvidia-smi: the card"),
    )


def built(headers: str, install: str) -> tuple[Step, ...]:
    """Build the driver's module for the kernel that runs.

    Args:
        headers: packages that it is built with, as a shell reads them.
        install: the command that installs packages.
    """
    steps = [
        Step(
            why="for which kernels it was built; a failed build names its log",
            argv=("dkms", "status"),
            check="a line nvidia with this kernel (uname -r) and the word installed",
        )
    ]
    if headers:
        steps.append(
            Step(
                why="the module is built with the headers of the kernel that runs",
                argv=("sudo", "sh", "-c", f"{install} {headers}"),
                check="ls /lib/modules/$(uname -r)/build",
            )
        )
    steps.append(
        Step(
            why="build what is missing for this kernel",
            argv=("sudo", "dkms", "autoinstall"),
            check="dkms status: nvidia, installed, for this kernel",
        )
    )
    return (*steps, load("nvidia-smi: the card"))
