"""The probes: kernels, runners and prebuilt device code, and the copy that a run mounts.

`kernels/*.cu` are compiled by the image's own compiler; `kernels/prebuilt/` holds what an image
without one gets (`script/build-probes` makes it, ``SHA256SUMS`` lists it).
"""

import hashlib
import shutil
from pathlib import Path

from envbuild import data
from envbuild.certify import sass
from envbuild.errors import EnvbuildError, MachineError
from envbuild.values.codec import Pairs

SOURCES = (
    "probe.h",
    "mma.h",
    "add.cu",
    "pair.cu",
    "program.cu",
    "fma.cu",
    "memory.cu",
    "paired.cu",
    "freivalds.cu",
    "rates.h",
    "rates.cu",
    "rates8.cu",
    "correct.cu",
    "atomics.cu",
    "numerics.cu",
    "tensor.cu",
    "tensor8.cu",
    "tensor4.cu",
    "packages.py",
)
# Parts of the framework suites, each run by the image's own Python.
FRAMEWORKS = tuple(
    f"frameworks/{name}"
    for name in (
        "envbuild_say.py",
        "envbuild_apart.py",
        "torch_near.py",
        "torch_build.py",
        "torch_eager.py",
        "torch_matmul.py",
        "torch_conv.py",
        "torch_add.py",
        "torch_graph.py",
        "torch_extension.py",
        "add_module.cpp",
        "add_kernel.cu",
        "torch_compile.py",
        "numba_kernels.py",
        "cupy_build.py",
        "cupy_jit.py",
        "cupy_matmul.py",
        "triton_softmax.py",
        "cuda_python_arrays.py",
        "cuda_python_bindings.py",
        "cuda_python_core.py",
    )
)
# What only a driver may bring; programs also load libcuda by its bare name, as stubs/ has it.
DRIVER_LIBRARIES = (
    "libcuda.so.1",
    "libcuda.so",
    "libnvidia-ml.so.1",
    "libnvidia-ptxjitcompiler.so.1",
    "libnvidia-nvvm.so.4",
)
_RUNNERS = ("steps", "probe")
# Code that must not load: one old and one new target, of which one is never the device's major.
OTHERS = ("61", "90")


def hashes() -> Pairs:
    """sha256 of every probe file, as a lock and a certificate carry it; path below ``kernels/``."""
    folder = data.folder("kernels")
    names = (*SOURCES, *FRAMEWORKS, *(f"prebuilt/{name}" for name, _ in _sums(folder)))
    return Pairs(
        tuple(
            (name, hashlib.sha256((folder / name).read_bytes()).hexdigest())
            for name in sorted(names)
        )
    )


def stage(into: Path, arch: str) -> None:
    """Copy what a run needs into a folder of its own, readable by any user of an image.

    Args:
        into: the folder, made here.
        arch: architecture of the image.

    Raises:
        EnvbuildError: a prebuilt file is not the one that ``SHA256SUMS`` names.
        MachineError: the folder cannot be written, or there are no probes for ``arch``.
    """
    folder = data.folder("kernels")
    prebuilt = folder / "prebuilt"
    if not (prebuilt / arch).is_dir():
        what = f"there are no probes for {arch}"
        raise MachineError(what, fix="certify on x86_64 or aarch64")
    for name, sha256 in _sums(folder):
        found = hashlib.sha256((prebuilt / name).read_bytes()).hexdigest()
        if found != sha256:
            what = f"kernels/prebuilt/{name} is not what was shipped"
            raise EnvbuildError(what, fix="install envbuild again, or run script/build-probes")
    try:
        planted = into / "planted"
        planted.mkdir(parents=True)
        (into / "frameworks").mkdir()
        for name in (*SOURCES, *FRAMEWORKS):
            shutil.copyfile(folder / name, into / name)
        for name in _RUNNERS:
            shutil.copyfile(prebuilt / arch / name, into / name)
        for name in DRIVER_LIBRARIES:
            shutil.copyfile(prebuilt / arch / "planted.so", planted / name)
        for name, _ in _sums(folder):
            if name.endswith(".fatbin"):
                shutil.copyfile(prebuilt / name, into / name)
        code = (into / "add.fatbin").read_bytes()
        for target in OTHERS:
            (into / f"other.{target}.cubin").write_bytes(sass.extract(code, target))
        # Whatever our umask: the image's own user is somebody else.
        for path in (into, *into.rglob("*")):
            runs = path.is_dir() or path.name in _RUNNERS
            path.chmod(0o755 if runs else 0o644)
    except OSError as e:
        what = f"{into} cannot be written: {e.strerror or e}"
        raise MachineError(what, fix="free some space in the temporary folder") from e


def _sums(folder: Path) -> tuple[tuple[str, str], ...]:
    """(path below prebuilt, sha256) as listed."""
    lines = (folder / "prebuilt" / "SHA256SUMS").read_text(encoding="ascii").splitlines()
    pairs = (line.split("  ", 1) for line in lines)
    return tuple((name, sha256) for sha256, name in pairs)
