"""An image as apptainer unpacks it: a folder with the system, and apptainer's own scripts in it."""

import os
import re
from pathlib import Path

from envbuild.engines.failures import failure
from envbuild.errors import ImageError
from envbuild.io import proc

_LONG = 3600.0  # seconds
# What apptainer itself puts into an image, over what is there (base_environment.go, apps.go and
# conveyorPacker_oci.go of apptainer at 917d6657); it runs all that lies beside them, too.
_SCRIPTS = frozenset(
    f"{name}.sh"
    for name in ("01-base", "10-docker2singularity", "90-environment", "94-appsbase", "95-apps",
                 "99-base", "99-runtimevars")
)  # fmt: skip
# The user's own settings of mounts and variables would come into each container.
_OURS = re.compile(r"(APPTAINER|SINGULARITY)(?!_(CACHEDIR|CONFIGDIR|TMPDIR)$)")


def environment() -> dict[str, str]:
    """This machine's, without what would change each container."""
    return {name: text for name, text in os.environ.items() if not _OURS.match(name)}


def unpack(cli: str, source: str, ref: str, folder: Path) -> None:
    """Unpack an image into a new folder.

    Args:
        cli: apptainer.
        source: ``oci-archive:FILE`` or ``oci:FOLDER``, in which every digest was checked.
        ref: what people call it.
        folder: made here.

    Raises:
        ImageError: it has files of its own for apptainer.
        MachineError, BuildError: no room, or it cannot be unpacked here.
    """
    # Without root, a folder that its owner may not write could never be removed.
    own = ("--fix-perms",) if os.geteuid() else ()
    argv = (cli, "--quiet", "build", *own, "--sandbox", str(folder), source)
    done = proc.run(argv, timeout=_LONG, env=environment())
    if done.rc or not folder.is_dir():
        raise failure("apptainer", done.out + done.err)
    _check_scripts(ref, folder / ".singularity.d")


def _check_scripts(ref: str, folder: Path) -> None:
    """Each command would begin with scripts of the image's own, which its config does not name.

    Raises:
        ImageError: it has some, or libraries where apptainer puts the driver's.
    """
    env, libs = folder / "env", folder / "libs"
    linked = any(path.is_symlink() for path in (folder, env, libs))
    own = [] if linked else [path.name for path in env.glob("*") if path.name not in _SCRIPTS]
    own += [] if linked else [path.name for path in libs.glob("*")]
    if linked or own:
        what = f"{ref} brings files of its own for apptainer: {', '.join(own) or 'links'}"
        why = "they would change what runs, and other engines would not read them"
        raise ImageError(what, why=why, fix="build it without /.singularity.d")
