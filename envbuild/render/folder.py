"""A build context as a folder; a stranger's folder is never touched."""

from pathlib import Path

from envbuild.errors import InputError
from envbuild.io.workspace import save_folder
from envbuild.render.templates import CONTEXT
from envbuild.values.image import BuildContext

_OURS = frozenset(path for path, _ in CONTEXT) | {
    "apt.lock",
    "apt.sha256",
    "constraints.txt",
    "envbuild.lock",
    "plan.json",
    "requirements.txt",
    "toolkit.lock",
    "toolkit.sha256",
    "unpack.py",
}


def save(context: BuildContext, folder: Path) -> None:
    """Write the context, all or nothing; an older context in the folder is replaced.

    Raises:
        InputError: the folder holds anything else.
        MachineError: no space, or it cannot be written.
    """
    target = folder.resolve()
    if target.exists() and not target.is_dir():
        what = f"{folder} is a file"
        raise InputError(what, fix="choose a folder with -o")
    held = {p.relative_to(target).as_posix() for p in target.rglob("*") if not p.is_dir()}
    strange = sorted(held - _OURS)
    if strange or (held and "plan.json" not in held) or target == Path.cwd():
        why = f"it holds {', '.join(strange[:3])}" if strange else "it is no build context"
        what = f"{folder} is not ours to replace"
        raise InputError(what, why=why, fix="choose a new or empty folder with -o")
    save_folder(target, {file.path: file.data for file in context.files})
