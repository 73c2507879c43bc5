"""What docker and podman share about containers: commands, how a start failed."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence

from envbuild.errors import MachineError
from envbuild.host.access import gpu_flags as gpu_flags
from envbuild.io import interrupts
from envbuild.values.codec import Pairs

# Where SELinux is on, a confined container may touch neither our mounts nor a CDI device node.
UNCONFINED = ("--security-opt", "label=disable")
# No rights beyond those of the user inside. A GPU needs none: its devices and libraries are brought
# in from outside, before the command starts (libnvidia-container, src/cli/configure.c;
# github.com/NVIDIA/k8s-device-plugin/issues/232).
NO_RIGHTS = ("--cap-drop", "ALL", "--security-opt", "no-new-privileges")

#: Exit codes that both a command and the client give: 125 nothing started, 126 and 127 the image
#: has no such command. They are the command's, unless a start of `NOTHING` fails, too.
OWN_CODES = frozenset({125, 126, 127})
#: Seconds that a command has to end when it is told to, as with `docker stop`.
GRACE = 10.0
#: No command anywhere: a folder. What stops it before it is tried would stop any command.
NOTHING = ("/",)


#: Of a run without a GPU. An image may ask for one in its own environment, and gets it, with files
#: of the driver, where the engine's default runtime is NVIDIA's.
NO_GPU = ("NVIDIA_VISIBLE_DEVICES", "void")


def is_root(user: str) -> bool:
    """An image's user is root; one without a user is."""
    return user.partition(":")[0] in {"", "0", "root"}


def rights(user: str | None) -> tuple[str, ...]:
    """Flags of `interactive` for an image with this user, None = not known yet.

    What is not root has no capability to use, only programs that would give it some. Root keeps the
    engine's own: it may be there to install something.
    """
    return () if user is None or is_root(user) else NO_RIGHTS


def show_progress(line: str) -> None:
    """The engine's own progress, as it comes, on stderr."""
    with contextlib.suppress(OSError):  # nobody reads it, or the disk behind it is full
        print(line, file=sys.stderr, flush=True)


def device_flags(engine: str, access: str, devices: Sequence[str] = ()) -> tuple[str, ...]:
    """The flags of `gpu_flags`; for ``none`` those with which no GPU comes in unasked."""
    return gpu_flags(engine, access, devices) or ("-e", "=".join(NO_GPU))


def command(ref: str, argv: Sequence[str]) -> tuple[str, ...]:
    """Image and command at the end of a ``run`` line; a command replaces the entrypoint."""
    return ("--entrypoint", argv[0], ref, *argv[1:]) if argv else (ref,)


def attached(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Run a client with this terminal; Ctrl-C is the container's. Its exit code.

    TERM and HUP come to us alone, from a scheduler or from whoever ends process 1 of a pod: they
    are passed on, and the client has `GRACE` seconds for them.

    Raises:
        MachineError: the client cannot be started.
        KeyboardInterrupt: it did not end when it was told to.
    """
    try:
        process = subprocess.Popen(list(argv), env={**os.environ, **env})
    except OSError as e:
        what = f"{argv[0]} cannot be started: {e}"
        raise MachineError(what, fix=f"install {argv[0]}") from e
    with process:
        while process.poll() is None:
            _wait(process)
    return process.returncode


def _wait(process: "subprocess.Popen[bytes]") -> None:
    """Wait for a client to end, or for a signal; one to us alone is passed on.

    Raises:
        KeyboardInterrupt: it was told to end and goes on; it is killed.
    """
    try:
        process.wait()
    except KeyboardInterrupt:
        number = interrupts.last()
    else:
        return
    if number == signal.SIGINT:
        # The terminal sends Ctrl-C to the client, too; what it does then is the result.
        interrupts.forget()
        return
    process.send_signal(number)
    try:
        process.wait(GRACE)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.kill()
        raise KeyboardInterrupt from None


def surely(clean: Callable[[], object]) -> None:
    """Clean up; begun again where an interrupt cuts it off, or what it removes would stay."""
    try:
        clean()
    except KeyboardInterrupt:
        clean()
        raise


def not_started(text: str) -> int | None:
    """127 or 126 as a shell gives them where the image lacks the command; None = another cause."""
    if re.search(r"executable file.* not found|stat .*: no such file or directory", text):
        return 127
    if re.search(r"exec.*(permission denied|exec format error|is a directory)", text):
        return 126
    return None


def env_pairs(env: Iterable[str] | None) -> Pairs:
    """An image's environment."""
    return Pairs(tuple((k, v) for k, _, v in (e.partition("=") for e in env or ())))
