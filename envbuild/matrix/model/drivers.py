"""Rows about drivers."""

from typing import Literal

from envbuild.matrix.model.base import Row


class DriverFloor(Row):
    """Minor-version compatibility: lowest driver for a CUDA major, `drivers.yaml` ``floors``.

    Attributes:
        wsl: lowest Windows driver inside WSL 2, where that asks for a newer one.
    """

    major: int
    linux: str
    windows: str | None = None
    wsl: str | None = None


class Branch(Row):
    """One driver branch, `drivers.yaml` ``branches``.

    Attributes:
        cuda: CUDA level of the branch (``580`` -> ``13.0``).
        newest: newest release seen.
        ends: YYYY-MM.
        over: YYYY-MM of the edition that calls it ended, where no source has the month of its end.
        modules: kernel-module flavours it comes with.
    """

    branch: int
    newest: str | None = None
    cuda: str | None = None
    ends: str | None = None
    over: str | None = None
    kind: str = ""
    modules: tuple[Literal["open", "proprietary"], ...] = ("open", "proprietary")
