"""Steps that let a machine with Secure Boot load a module that was built on it."""

from envbuild.values.finding import Step
from envbuild.values.host import Os

# Where dkms keeps the key that it signs with: Ubuntu has a place of its own.
_KEYS = {"ubuntu": "/var/lib/shim-signed/mok/MOK.der"}
_KEY = "/var/lib/dkms/mok.pub"

_STATE = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"

TEST = (
    f"test \"$(od -An -tu1 {_STATE} 2>/dev/null | awk '{{print $NF}}')\" != 1 "
    "|| modinfo -F signer nvidia 2>/dev/null | grep -q ."
)
"""Ends with 0 where Secure Boot is off, or the module bears a signature."""


def before_start(os: Os, on: bool | None) -> tuple[Step, ...]:
    """What a module that was built here needs before the restart that loads it.

    Args:
        os: the system.
        on: the firmware takes signed code alone; None = nobody looked, so that the reader does.
    """
    if on:
        return steps(os.id)
    if on is False:
        return ()
    enrol = " ".join(steps(os.id)[0].argv)
    step = Step(
        why="with Secure Boot the kernel loads no module that was built here, unless the firmware "
        "knows its key",
        argv=("mokutil", "--sb-state"),
        check=f"SecureBoot disabled, or no EFI at all; where it is enabled: {enrol}, and Enroll "
        "MOK in the blue menu of the restart",
    )
    return (step,)


def steps(os: str | None) -> tuple[Step, ...]:
    """Enrol the key that dkms signs modules with; the reader confirms it at the next start."""
    name = (os or "").rstrip("0123456789.")
    key = _KEYS.get(name, _KEY)
    return (
        Step(
            why="the key that dkms signs with; it asks for a password, which you need once more",
            argv=("sudo", "mokutil", "--import", key),
            check="mokutil --list-new: the key",
        ),
        Step(
            why="the firmware takes a key only from somebody who sits before it",
            text="restart; in the blue menu choose Enroll MOK, Continue, and type the password",
            check="mokutil --list-enrolled: the key; modinfo -F signer nvidia: its name",
        ),
    )
