"""Where the templates, kernels and matrices are: packed in the wheel, or beside the package."""

from pathlib import Path
from typing import Literal

from envbuild.errors import EnvbuildError

Tree = Literal["templates", "kernels", "matrices"]
_HERE = Path(__file__).resolve().parent


def folder(tree: Tree) -> Path:
    """The folder of one data tree.

    Raises:
        EnvbuildError: the installation is broken.
    """
    packed = _HERE / "_data" / tree
    if packed.is_dir():
        return packed
    beside = _HERE.parent / tree
    # Only a source tree may be read from beside the package, never a stranger's folder.
    if beside.is_dir() and (_HERE.parent / "pyproject.toml").is_file():
        return beside
    what = f"this installation of envbuild has no {tree}"
    raise EnvbuildError(what, fix="install envbuild again")
