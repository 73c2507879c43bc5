"""Rows about what an image starts from: vendor tags, plain systems, Jetson lines."""

from typing import Literal

from envbuild.matrix.model.base import Arch, Row


class ImageTag(Row):
    """One vendor image version on one OS, `images.yaml`.

    Attributes:
        cuda: ``12.9.1``.
        os: ``ubuntu24.04``.
        flavours: base, runtime, devel and others, as far as they exist without cuDNN.
        cudnn: spelling of the cuDNN part of the tag (``cudnn8``, ``cudnn``); None = no such tag.
        cudnn_flavours: flavours that exist with it.
        cudnn_version: cuDNN inside, where sourced.
        require: toolkit level that ``NVIDIA_REQUIRE_CUDA`` asks for.
        require_branches, require_brands: driver branches below that level which it accepts, and
            for which brands.
        arm_rule: what the aarch64 image asks for: the same, the level alone, or nothing.
        withdrawn: the tag is known to be deleted or past its end of life.
    """

    cuda: str
    os: str
    flavours: tuple[str, ...]
    cudnn: str | None = None
    cudnn_flavours: tuple[str, ...] = ("runtime", "devel")
    cudnn_version: str | None = None
    arches: tuple[Arch, ...]
    require: str | None = None
    require_branches: tuple[int, ...] = ()
    require_brands: tuple[str, ...] = ()
    arm_rule: Literal["same", "level", "none"] = "same"
    withdrawn: bool = False


class Os(Row):
    """One operating-system release as a base, `os.yaml`.

    Attributes:
        id: ``ubuntu24.04``; ``image`` the plain base image, canonical.
        gcc: major of the default compiler; ``gccs`` all majors its archive has.
        python: its own python3, ``3.12``.
        lts: a long-term release; ``ends`` YYYY-MM of standard support.
        released: YYYY-MM, where known.
        family: apt or rpm.
    """

    id: str
    aliases: tuple[str, ...] = ()
    image: str | None = None
    codename: str | None = None
    family: Literal["apt", "rpm"] = "apt"
    gcc: int | None = None
    gccs: tuple[int, ...] = ()
    glibc: str | None = None
    python: str | None = None
    lts: bool = False
    released: str | None = None
    ends: str | None = None


class JetsonRow(Row):
    """One L4T line, `jetson.yaml`: its CUDA, its cc and the kind of userland.

    Attributes:
        os: the system it is built on, ``ubuntu22.04``.
        devices: the modules it is for, in words.
        mounted: its image holds no CUDA, that of the machine is mounted into it.
        index: address of NVIDIA's index of packages that are built for it; ``wheels`` that of its
            folder of torch wheels.
    """

    l4t: str
    jetpack: str
    cuda: str
    cc: tuple[str, ...]
    platform: Literal["jetson-l4t", "jetson-sbsa"]
    image: str | None = None
    os: str | None = None
    devices: str = ""
    mounted: bool = False
    index: str | None = None
    wheels: str | None = None
