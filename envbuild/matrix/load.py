"""The matrices as every stage takes them; read once a process.

``ENVBUILD_MATRICES`` names a folder of YAML files whose rows replace those with the same key, or
are added. Without it no YAML is read: the compiled files load in a few milliseconds.
"""

import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from envbuild.data import folder
from envbuild.errors import EnvbuildError
from envbuild.matrix.model import Matrices, Names

if TYPE_CHECKING:
    from envbuild.matrix.compile import Compiled
    from envbuild.matrix.model.errors import Errors
    from envbuild.matrix.model.reference import Reference

T = TypeVar("T")
OVERLAY = "ENVBUILD_MATRICES"


def load() -> Matrices:
    """All rows that plans are made from.

    Raises:
        InputError: a row of the overlay does not load.
        EnvbuildError: the installation is broken.
    """
    overlay = os.environ.get(OVERLAY)
    return _compiled(overlay).matrices if overlay else _packed()


def load_names() -> Names:
    """The rows for look-ups by product name or PCI id; raises as `load` does."""
    overlay = os.environ.get(OVERLAY)
    return _compiled(overlay).names if overlay else _packed_names()


def load_reference() -> "Reference":
    """The rows for questions and guides (engines, profilers, limits); raises as `load` does."""
    overlay = os.environ.get(OVERLAY)
    return _compiled(overlay).reference if overlay else _packed_reference()


def load_errors() -> "Errors":
    """The rows about what programs print; raises as `load` does."""
    overlay = os.environ.get(OVERLAY)
    return _compiled(overlay).errors if overlay else _packed_errors()


@lru_cache(maxsize=1)
def _packed() -> Matrices:
    return _decode("compiled.json", Matrices)


@lru_cache(maxsize=1)
def _packed_names() -> Names:
    return _decode("compiled-names.json", Names)


@lru_cache(maxsize=1)
def _packed_reference() -> "Reference":
    from envbuild.matrix.model.reference import Reference

    return _decode("compiled-reference.json", Reference)


@lru_cache(maxsize=1)
def _packed_errors() -> "Errors":
    from envbuild.matrix.model.errors import Errors

    return _decode("compiled-errors.json", Errors)


@lru_cache(maxsize=4)
def _compiled(overlay: str) -> "Compiled":
    from envbuild.matrix.compile import compile_matrices

    return compile_matrices(folder("matrices"), Path(overlay))


def _decode(name: str, kind: type[T]) -> T:
    try:
        return msgspec.json.decode((folder("matrices") / name).read_bytes(), type=kind)
    except (OSError, msgspec.MsgspecError) as e:
        what = f"this installation of envbuild has no usable matrices/{name}: {e}"
        raise EnvbuildError(
            what, fix="install envbuild again; in a checkout: script/compile-matrices"
        ) from e
