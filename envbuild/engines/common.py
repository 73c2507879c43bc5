"""What docker and podman share about containers: GPU flags, commands, how a start failed."""

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence

from envbuild.errors import MachineError
from envbuild.values.codec import Pairs

ACCESS = {
    "docker": ("cdi", "gpus", "nvidia-runtime", "none"),
    "podman": ("cdi", "nvidia-runtime", "none"),
}


# Where SELinux is on, a confined container may touch neither our mounts nor a CDI device node.
UNCONFINED = ("--security-opt", "label=disable")


def show_progress(line: str) -> None:
    """The engine's own progress, as it comes, on stderr."""
    with contextlib.suppress(OSError):  # nobody reads it, or the disk behind it is full
        print(line, file=sys.stderr, flush=True)


def gpu_flags(engine: str, access: str, devices: Sequence[str] = ()) -> tuple[str, ...]:
    """Command-line flags that bring the GPU in, one entry an argument.

    Args:
        engine: docker or podman.
        access: cdi, gpus, nvidia-runtime or none.
        devices: uuids or indexes; empty = all.

    Raises:
        MachineError: this engine has no such way; running without the GPU would hide that.
    """
    if access not in ACCESS[engine]:
        what = f"{engine} has no GPU access mode {access!r}"
        raise MachineError(what, fix=f"one of {', '.join(ACCESS[engine])}")
    wanted = tuple(devices) or ("all",)
    if access == "cdi":
        named = (part for name in wanted for part in ("--device", f"nvidia.com/gpu={name}"))
        return (*named, *(UNCONFINED if engine == "podman" else ()))
    if access == "gpus":
        # Docker reads a comma as its own separator unless the whole value is quoted.
        return ("--gpus", "all" if wanted == ("all",) else f'"device={",".join(wanted)}"')
    if access == "nvidia-runtime":
        return ("--runtime", "nvidia", "--env", f"NVIDIA_VISIBLE_DEVICES={','.join(wanted)}")
    return ()


def command(ref: str, argv: Sequence[str]) -> tuple[str, ...]:
    """Image and command at the end of a ``run`` line; a command replaces the entrypoint."""
    return ("--entrypoint", argv[0], ref, *argv[1:]) if argv else (ref,)


def attached(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Run a client with this terminal; Ctrl-C is the container's. Its exit code.

    Raises:
        MachineError: the client cannot be started.
    """
    try:
        process = subprocess.Popen(list(argv), env={**os.environ, **env})
    except OSError as e:
        what = f"{argv[0]} cannot be started: {e}"
        raise MachineError(what, fix=f"install {argv[0]}") from e
    with process:
        while process.poll() is None:
            # The terminal sends Ctrl-C to the client, too; what it does then is the result.
            with contextlib.suppress(KeyboardInterrupt):
                process.wait()
    return process.returncode


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
