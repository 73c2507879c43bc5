"""What the user asks for, before anything is looked at."""

from typing import Literal

from envbuild.values.codec import Value

Where = Literal["image", "host"]
Flavour = Literal["base", "runtime", "devel"]
Source = Literal["image", "wheels", "distro", "apt", "redist", "conda"]


class Wish(Value):
    """A package the user wants, with an optional version range (PEP 440)."""

    name: str
    range: str = ""


class Request(Value):
    """Flags and files as given; every field that is None or empty was not asked for.

    Attributes:
        cc: compute capabilities, ``6.1``; or the single entry ``all``.
        gpus: product names as typed.
        cuda: range of toolkit versions; a bare version is a prefix (``13`` = ``13.*``).
        packages: torch and other packages.
        features: wgmma, fp8, tensor-cores, extension ...
        arch: ``x86_64`` or ``aarch64``.
        platform: ``linux``, ``wsl2``, ``jetson``; ``linux/arm64`` sets the arch.
        driver: driver version that must be used, where the user knows it.
        as_of: date (YYYY-MM-DD) at which lifecycles are judged.
        split: several images are allowed.
    """

    schema: Literal["envbuild/request/1"] = "envbuild/request/1"
    cc: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    cuda: str | None = None
    packages: tuple[Wish, ...] = ()
    features: tuple[str, ...] = ()
    base_os: str | None = None
    arch: str | None = None
    platform: str | None = None
    l4t: str | None = None
    glibc: str | None = None
    gcc: str | None = None
    where: Where | None = None
    flavour: Flavour | None = None
    toolkit_source: Source | None = None
    driver: str | None = None
    as_of: str | None = None
    split: bool = False
