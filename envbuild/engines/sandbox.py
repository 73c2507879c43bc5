"""An image as apptainer unpacks it: a folder with the system, and apptainer's own scripts in it."""

import os
import re
import shutil
from pathlib import Path

from envbuild.errors import ImageError, MachineError
from envbuild.io import proc

_LONG = 3600.0  # seconds
# What apptainer itself puts into an image, over what is there (base_environment.go, apps.go and
# conveyorPacker_oci.go of apptainer at 917d6657); it runs all that lies beside them, too.
_SCRIPTS = frozenset(
    f"{name}.sh"
    for name in ("01-base", "10-docker2singularity", "90-environment", "94-appsbase", "95-apps",
                 "99-base", "99-runtimevars")
)  # fmt: skip
# It writes such a path into a script of its own, where one ends a word.
_UNQUOTED = frozenset("\"'\n")
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
        MachineError: no room, or it cannot be unpacked here.
    """
    root = folder.parents[1]
    if set(str(root)) & _UNQUOTED:
        what = f"apptainer runs nothing in {str(root)!r}: it takes no quote and no line break"
        raise MachineError(what, fix="work in another folder")
    # Without root, a folder that its owner may not write could never be removed.
    own = ("--fix-perms",) if os.geteuid() else ()
    # What is kept here needs no second copy in a home; and what a killed one leaves lies where the
    # next one looks for it, beside the image, which is where there must be room for it anyway.
    argv = (cli, "--quiet", "build", "--disable-cache", *own, "--sandbox", str(folder), source)
    scratch = folder.with_name("scratch")
    scratch.mkdir()
    places = {f"{name}_TMPDIR": str(scratch) for name in ("APPTAINER", "SINGULARITY")}
    done = proc.run(argv, timeout=_LONG, env=environment() | places)
    shutil.rmtree(scratch, ignore_errors=True)
    if done.rc or not folder.is_dir():
        raise _not_unpacked(ref, root, done.out + done.err)
    _check_scripts(ref, folder / ".singularity.d")


def _not_unpacked(ref: str, root: Path, log: str) -> MachineError:
    said = [line.strip() for line in log.splitlines() if line.strip()] or ["it said nothing"]
    full = [line for line in said if re.search("no space left|quota exceeded", line, re.IGNORECASE)]
    if full:
        what, fix = f"there is no room for {ref} in {root}", "free some, or work in another folder"
    else:
        what, fix = (
            f"apptainer cannot unpack {ref} here",
            "use docker or podman, or another machine",
        )
    return MachineError(what, why=(full or said)[-1], fix=fix)


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
