"""The environment that makes a folder of this machine the toolkit."""

import os
import platform
from pathlib import Path

from envbuild.engines import names, toolkits, tree
from envbuild.values.codec import Pairs
from envbuild.values.image import Image

_SEARCHED = ("PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "PYTHONPATH")
_FROM_PLAN = ("CMAKE_CUDA_ARCHITECTURES", "CUDAARCHS", "TORCH_CUDA_ARCH_LIST")


def environment(ref: Path, cuda: Path, planned: Pairs | None = None) -> tuple[Pairs, str]:
    """Variables for the toolkit ``cuda`` of the prefix ``ref``, and the name of its compiler.

    The plan's paths are those of an image: only its lists of targets are taken.

    Raises:
        MachineError: nvcc is there, and no host compiler that it takes.
    """
    has_nvcc = (cuda / "bin" / "nvcc").exists()
    libraries = next((d for d in ("lib64", "lib") if (cuda / d).is_dir()), "lib64")
    links = [d for d in (f"{libraries}/stubs", libraries) if (cuda / d).is_dir()]
    env = {
        "PATH": f"{cuda}/bin" if ref == cuda else f"{cuda}/bin:{ref}/bin",
        "CUDA_HOME": str(cuda),
        "CUDA_PATH": str(cuda),
        "LD_LIBRARY_PATH": f"{cuda}/{libraries}",
        "LIBRARY_PATH": ":".join(f"{cuda}/{d}" for d in links),
    }
    if (ref / "site").is_dir():
        # A module compiled on import would be a changed prefix.
        env |= {"PYTHONPATH": f"{ref}/site", "PYTHONDONTWRITEBYTECODE": "1"}
    if has_nvcc:
        gxx = toolkits.need_host_compiler(toolkits.gcc_ceiling(cuda)).path
        env |= {"NVCC_CCBIN": gxx, "CUDAHOSTCXX": gxx}
    env |= {name: text for name, text in planned or () if name in _FROM_PLAN}
    return Pairs(env), "nvcc" if has_nvcc else "nvrtc"


def merged(env: Pairs) -> dict[str, str]:
    """This process's environment with the prefix's in front."""
    whole = dict(os.environ)
    for name, text in env:
        behind = os.environ.get(name) if name in _SEARCHED else None
        whole[name] = f"{text}:{behind}" if behind else text
    return whole


def unrecorded(folder: Path, known: tree.Known | None = None) -> Image | None:
    """A toolkit that somebody else installed and no plan asked for; None if it is none.

    Args:
        folder: where it is.
        known: files that were read before.
    """
    toolkit = toolkits.read(folder) if (folder / "bin" / "nvcc").is_file() else None
    if toolkit is None:
        return None
    env, compiler = environment(folder, folder)
    return Image(
        ref=str(folder),
        config=tree.digest(tree.contents(folder, toolkits.is_compiler_part, known)),
        platform=names.platform_here(),
        env=env,
        labels=Pairs({"envbuild.cuda": toolkit.cuda, "envbuild.compiler": compiler}),
    )


def os_name() -> str:
    """``Debian GNU/Linux 12 (bookworm)``."""
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return "an unnamed Linux"
