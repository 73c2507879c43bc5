"""The image's own programs: its compiler, its lists, its interpreter."""

import re
from functools import cache
from pathlib import Path

from envbuild.certify import sass
from envbuild.matrix.load import load as matrices
from tests.certify.simulated.inside import Inside, compiled, listing, newest_gcc
from tests.certify.simulated.machine import Answer, Call, Program

_BROKEN = 'add.cu(14): error: identifier "no_such_function" is undefined'
_HERE = {
    "nvcc": "/usr/local/cuda/bin/nvcc",
    "cuobjdump": "/usr/local/cuda/bin/cuobjdump",
    "gcc": "/usr/bin/gcc",
    "g++": "/usr/bin/g++",
    "python3": "/usr/bin/python3",
    "sh": "/usr/bin/sh",
    "dpkg-query": "/usr/bin/dpkg-query",
    "compute-sanitizer": "/usr/local/cuda/bin/compute-sanitizer",
    "cuda-gdb": "/usr/local/cuda/bin/cuda-gdb",
    "ncu": "/usr/local/cuda/bin/ncu",
    "nsys": "/usr/local/bin/nsys",
}


@cache
def _targets(cuda: str) -> tuple[str, ...]:
    return next(row.targets for row in matrices().toolkits if row.cuda == cuda)


def _which(call: Call) -> Answer:
    names = [name for name in call.argv[1:] if name in _HERE]
    lacking = () if call.inside.python else ("python3",)
    return Answer("".join(f"{n} {_HERE[n]}\n" for n in names if n not in lacking))


def _read(call: Call) -> Answer:
    if call.argv[1] == "/etc/os-release":
        return Answer('NAME="Ubuntu"\nVERSION_ID="24.04"\nID=ubuntu\n')
    return Answer("", f"{call.argv[1]}: No such file or directory\n", 1)


def _ldconfig(_: Call) -> Answer:
    return Answer("\tlibc.so.6 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libc.so.6\n")


def _nvcc(call: Call) -> Answer:
    argv = call.argv
    if "--list-gpu-code" in argv:
        return Answer("".join(f"sm_{t}\n" for t in _targets(call.inside.cuda) if t.isdigit()))
    if "-E" in argv:
        return _pair(call)
    if "-DENVBUILD_BROKEN" in argv:
        return Answer("", _BROKEN, 1)
    asked = re.findall(r"code=\[?sm_(\w+)", " ".join(argv))
    unknown = [target for target in asked if target not in _targets(call.inside.cuda)]
    if unknown:
        return Answer("", f"nvcc fatal   : Unsupported gpu architecture 'compute_{unknown[0]}'", 1)
    named = [word.partition("=")[2] for word in argv if word.startswith("-DENVBUILD_ADD=")]
    compiled(Path(call.after("-o")), asked, named[0] if named else "envbuild_add")
    return Answer()


def _pair(call: Call) -> Answer:
    told = [word.partition("=")[2] for word in call.argv if word.startswith("-D__GNUC__=")]
    major, minor = call.inside.gcc.split(".")
    major = told[0] if told else major
    line = (
        f"envbuild_pair host gcc {major} {minor} cuda {call.inside.cuda.replace('.', ' ')} 93 end\n"
    )
    newest = newest_gcc(call.inside.cuda)
    if int(major) > int(newest) and "-allow-unsupported-compiler" not in call.argv:
        error = f"#error -- unsupported GNU version! gcc versions later than {newest} are not"
        return Answer("", f"host_config.h:143:2: error: {error} supported!", 1)
    return Answer(line)


def _cuobjdump(call: Call) -> Answer:
    path = Path(call.argv[-1])
    found = sass.targets(path.read_bytes())
    lines = (f"ELF file {i:>4}: {path.stem}.{i}.sm_{t}.cubin\n" for i, t in enumerate(found, 1))
    return Answer("".join(lines))


def _program(call: Call) -> Answer:
    return Answer(f"envbuild_program runtime {number(call.inside.cuda)} end\n")


def _packages(call: Call) -> Answer:
    if not call.inside.python:
        return Answer("", "python3 cannot be started: No such file or directory\n", 127)
    return Answer(listing(call.inside))


def _dpkg(_: Call) -> Answer:
    return Answer("libc6=2.39-0ubuntu8.6\n")


def number(version: str) -> int:
    """CUDA's own spelling of a version."""
    major, minor = version.split(".")[:2]
    return int(major) * 1000 + int(minor) * 10


def libraries(now: Inside) -> dict[str, tuple[str, int]]:
    """Library name to (path, version) of the CUDA libraries that resolve inside."""
    major, folder = now.major, "/usr/local/cuda/lib64"
    return {
        f"libcudart.so.{major}": (f"{folder}/libcudart.so.{now.cuda}.90", number(now.cuda)),
        f"libnvrtc.so.{major}": (f"{folder}/libnvrtc.so.{now.cuda}.93", 0),
    }


PROGRAMS: dict[str, Program] = {
    "@which": _which,
    "@read": _read,
    "ldconfig": _ldconfig,
    "nvcc": _nvcc,
    "cuobjdump": _cuobjdump,
    "program": _program,
    "program-shared": _program,
    "packages.py": _packages,
    "dpkg-query": _dpkg,
}
