"""What every row has: where it is from, and how sure it is."""

from typing import Literal

from envbuild.values.codec import Value

Status = Literal["measured", "sourced", "derived"]
Arch = Literal["x86_64", "aarch64"]


class Source(Value):
    """Where a fact is from: a public address, or a package that anyone can open."""

    id: str
    says: str
    url: str | None = None


class Row(Value):
    """Base of every row; ``source`` holds ids of ``sources.yaml``."""

    source: tuple[str, ...]
    status: Status
    note: str = ""
