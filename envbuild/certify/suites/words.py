"""What frameworks say when they fail, in plain words: why, and whether it is a fault at all."""

import re
from typing import NamedTuple

from envbuild.certify.suites.common import last_line
from envbuild.values.certificate import Blame, Verdict


class Word(NamedTuple):
    """A text of a framework, and what it means.

    Attributes:
        text: pattern; its groups fill ``{0}``, ``{1}`` of ``reason``.
        reason: ``{what}`` is the framework, ``{cc}`` the device's, ``{driver}`` the machine's.
    """

    text: str
    verdict: Verdict
    blame: Blame
    reason: str


# The first that fits counts. Each text is one that the named project prints.
_WORDS = (
    # Inductor and Triton (torch/_inductor/exc.py, triton/runtime/build.py)
    Word(
        r"(?i)GPUTooOldForTriton|too old (?:for|to be supported by) the triton|capability >= ?7\.0",
        "skip",
        "machine",
        "Triton needs compute capability 7.0, the device is {cc}",
    ),
    Word(
        r"Failed to find C compiler|InvalidCxxCompiler|No working C\+\+ compiler",
        "skip",
        "image",
        "the image has no C compiler, and Triton and Inductor build their launchers with one",
    ),
    Word(
        r"Python\.h",
        "skip",
        "image",
        "Python.h is missing (the headers of the image's Python, python3-dev)",
    ),
    Word(
        r"TritonMissing|working triton installation|[Nn]o module named 'triton'",
        "skip",
        "image",
        "Triton is not in the image",
    ),
    Word(
        r"'?(sm_\d+[af]?)'? is not defined for option 'gpu-name'",
        "fail",
        "image",
        "the assembler (ptxas) that {what} takes has no target {0}",
    ),
    Word(
        r"Unsupported \.version ([\d.]+)",
        "fail",
        "image",
        "the assembler (ptxas) that {what} takes is older than its PTX {0}",
    ),
    # the driver and the runtime (cudaGetErrorString, cuGetErrorName)
    Word(
        r"no kernel image is available|NO_BINARY_FOR_GPU|NoKernelImageForDevice",
        "fail",
        "image",
        "{what} holds no code for the device, which is {cc}",
    ),
    Word(
        r"driver on your system is too old|driver version is insufficient|InsufficientDriver",
        "fail",
        "image",
        "{what} is built for a newer CUDA than the driver ({driver}) takes",
    ),
    Word(
        r"unsupported toolchain|UNSUPPORTED_PTX_VERSION|unsupported PTX",
        "fail",
        "image",
        "{what} writes PTX that is newer than the driver ({driver}) can compile",
    ),
    Word(
        r"out of memory|OUT_OF_MEMORY|MemoryAllocation|CUBLAS_STATUS_ALLOC_FAILED",
        "skip",
        "machine",
        "the GPU's memory is in use: out of memory",
    ),
    # capture (900 to 907), libraries
    Word(
        r"CUBLAS_STATUS_NOT_INITIALIZED",
        "fail",
        "image",
        "cuBLAS could not start (CUBLAS_STATUS_NOT_INITIALIZED): no memory for it, or it was first "
        "used inside a capture",
    ),
    Word(
        r"cuDNN version incompatibility: (.*?)(?:\n|$)",
        "fail",
        "image",
        "another cuDNN than torch was built for is loaded: {0}",
    ),
    Word(
        r"CUDNN_STATUS_ARCH_MISMATCH|CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH",
        "fail",
        "image",
        "the image's cuDNN has no code for the device, which is {cc}",
    ),
    # building
    Word(
        r"CUDA version \(([\d.]+)\) mismatches the version that was used to compile\s+PyTorch "
        r"\(([\d.]+)\)",
        "fail",
        "image",
        "the toolkit inside is CUDA {0}, torch is built for CUDA {1}: no extension can be built",
    ),
    Word(
        r"unsupported GNU version|unsupported clang version",
        "fail",
        "image",
        "nvcc does not take the image's C++ compiler: it is too new for this toolkit",
    ),
    Word(r"cannot find -l(\w+)", "fail", "image", "the linker finds no lib{0}"),
    Word(
        r"(?:cannot open|could not open) source file \"?([\w./+-]+)",
        "fail",
        "image",
        "the header {0} is missing, which {what} compiles with",
    ),
    Word(r"fatal error: ([\w./+-]+): No such file", "fail", "image", "the header {0} is missing"),
    Word(
        r"Failed to find CUDA (?:headers|root)|CUDA_PATH is not",
        "fail",
        "image",
        "the CUDA headers are missing, which {what} compiles with",
    ),
    # loading
    Word(
        r"nvrtc: error: failed to open (libnvrtc-builtins[\w.]+)",
        "fail",
        "image",
        "NVRTC is cut short: {0} is missing",
    ),
    Word(
        r"(libnvrtc[\w.-]*\.so[\w.]*)",
        "fail",
        "image",
        "NVRTC is missing: {what} compiles with {0} at run time",
    ),
    Word(
        r"invalid value for --gpu-architecture|NVRTC_ERROR_INVALID_OPTION",
        "fail",
        "image",
        "the image's NVRTC has no target for the device, which is {cc}",
    ),
    Word(
        r"(lib[\w.+-]+\.so[\w.]*): cannot open shared object file",
        "fail",
        "image",
        "{0} is missing, which {what} needs",
    ),
    Word(
        r"undefined symbol: (\w+)",
        "fail",
        "image",
        "a library of another version is loaded: it lacks {0}",
    ),
    Word(r"No module named '([\w.]+)'", "fail", "image", "the Python package {0} is missing"),
    Word(
        r"no NVIDIA driver on your system|driver library cannot be found|NVIDIA driver library",
        "fail",
        "image",
        "{what} finds no driver in the image, and smoke did",
    ),
)
_COMPILED = tuple((re.compile(word.text), word) for word in _WORDS)


def plain(said: tuple[str, str], what: str, cc: str, driver: str) -> Word:
    """The meaning of an exception; one that is not known is a fault in its own words.

    Args:
        said: messages of the exception and of those it came from, and what went to stderr before
            it (a build that fails says why there).
        what: the framework with its version.
        cc: of the device.
        driver: of this machine.
    """
    for text in said:
        for pattern, word in _COMPILED:
            if match := pattern.search(text):
                groups = [group or "" for group in match.groups()]
                known = {
                    "what": what,
                    "cc": f"cc {cc or '?'}",
                    "driver": driver or "version unknown",
                }
                reason = word.reason.format(*groups, **known)
                return word._replace(reason=reason)
    lines = [line.strip() for line in said[0].splitlines()]
    first = next((line for line in lines if line and not line.startswith("Traceback")), "nothing")
    if "non-zero exit status" in first and said[1].strip():
        first = last_line(said[1])
    return Word("", "fail", "image", f"{what} says: {first[:250]}")
