"""Compile device code to a cubin with NVRTC, where no nvcc is to be had.

Standard library only: a copy of this file is the ``bin/nvrtc`` of a prefix and works without
envbuild. The cubin is opened again and must be for the target that was asked for.
"""

import argparse
import contextlib
import ctypes
import struct
import sys
from collections.abc import Sequence
from pathlib import Path

_EM_CUDA = 190


class NvrtcError(Exception):
    """NVRTC is not there, does not know the target, or refused the source."""


def cubin_target(data: bytes) -> str | None:
    """The real target that a cubin was made for (``61``); None where this is no cubin."""
    if len(data) < 64 or data[:4] != b"\x7fELF" or data[4] != 2:
        return None
    if struct.unpack_from("<H", data, 18)[0] != _EM_CUDA:
        return None
    flags: int = struct.unpack_from("<I", data, 48)[0]
    # ABI 8 (CUDA 13) moved the target up one byte; ABI 7 and older keep it in the lowest.
    return str((flags >> 8) & 0xFF if data[8] >= 8 else flags & 0xFF)


class Nvrtc:
    """The NVRTC library of one folder.

    Args:
        lib: folder that holds ``libnvrtc.so.*``; None asks the loader.

    Raises:
        NvrtcError: it cannot be loaded.
    """

    def __init__(self, lib: Path | None) -> None:
        try:
            if lib is None:
                self._lib = ctypes.CDLL("libnvrtc.so")
                return
            # NVRTC opens its builtins by bare name: once loaded, that name is found.
            for path in sorted(lib.glob("libnvrtc-builtins.so*")):
                ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
            names = [p for p in sorted(lib.glob("libnvrtc.so*")) if ".alt." not in p.name]
            if not names:
                msg = f"no libnvrtc.so in {lib}"
                raise NvrtcError(msg)
            self._lib = ctypes.CDLL(str(names[0]))
        except OSError as e:
            raise NvrtcError(str(e)) from e
        self._lib.nvrtcGetErrorString.restype = ctypes.c_char_p

    def version(self) -> str:
        """``12.9``."""
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._check(self._lib.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
        return f"{major.value}.{minor.value}"

    def targets(self) -> list[str]:
        """Real targets it compiles for, without ``sm_``."""
        count = ctypes.c_int()
        self._check(self._lib.nvrtcGetNumSupportedArchs(ctypes.byref(count)))
        found = (ctypes.c_int * count.value)()
        self._check(self._lib.nvrtcGetSupportedArchs(found))
        return [str(n) for n in found]

    def compile(self, source: bytes, name: str, target: str, options: Sequence[str] = ()) -> bytes:
        """The cubin of ``source`` for ``target``.

        Raises:
            NvrtcError: the compiler's own log; or the result is not for this target.
        """
        program = ctypes.c_void_p()
        make = self._lib.nvrtcCreateProgram
        self._check(make(ctypes.byref(program), source, name.encode(), 0, None, None))
        try:
            words = [f"--gpu-architecture=sm_{target}".encode(), *(o.encode() for o in options)]
            rc = self._lib.nvrtcCompileProgram(
                program, len(words), (ctypes.c_char_p * len(words))(*words)
            )
            log = self._bytes(program, "ProgramLog").rstrip(b"\0").decode("utf-8", "replace")
            if rc:
                raise NvrtcError(log.strip() or self._text(rc))
            cubin = self._bytes(program, "CUBIN")
        finally:
            self._lib.nvrtcDestroyProgram(ctypes.byref(program))
        got = cubin_target(cubin)
        if got != target.rstrip("af"):
            msg = f"asked for sm_{target}, got {'sm_' + got if got else 'no cubin'}"
            raise NvrtcError(msg)
        return cubin

    def _bytes(self, program: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        self._check(getattr(self._lib, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
        buffer = ctypes.create_string_buffer(size.value)
        self._check(getattr(self._lib, f"nvrtcGet{what}")(program, buffer))
        return buffer.raw

    def _check(self, rc: int) -> None:
        if rc:
            raise NvrtcError(self._text(rc))

    def _text(self, rc: int) -> str:
        return f"{self._lib.nvrtcGetErrorString(rc).decode()} ({rc})"


def _arguments(argv: Sequence[str]) -> "tuple[argparse.Namespace, list[str]]":
    parser = argparse.ArgumentParser(
        prog="nvrtc",
        allow_abbrev=False,
        description="Compile device code to a cubin; other flags go to NVRTC.",
    )
    parser.add_argument("source", nargs="?", help="the .cu file")
    parser.add_argument("-arch", default="", help="sm_61")
    parser.add_argument("-o", dest="output", help="the .cubin file")
    parser.add_argument("--lib", type=Path, help="folder of libnvrtc.so")
    parser.add_argument("--version", action="store_true")
    parser.add_argument("--list-gpu-code", action="store_true")
    return parser.parse_known_args(argv)


def main(argv: Sequence[str]) -> int:
    """Run one command line; 0, or 1 with the reason on stderr."""
    args, options = _arguments(argv)
    # As PREFIX/bin/nvrtc the library lies in PREFIX/cuda/lib.
    cuda = Path(__file__).resolve().parent.parent / "cuda"
    lib = args.lib or (cuda / "lib" if (cuda / "lib").is_dir() else None)
    try:
        nvrtc = Nvrtc(lib)
        if args.version:
            print(f"nvrtc {nvrtc.version()}")
        elif args.list_gpu_code:
            print("\n".join(f"sm_{t}" for t in nvrtc.targets()))
        elif not args.source or not args.arch.startswith("sm_"):
            print("nvrtc: give -arch=sm_NN, -o OUT.cubin and a .cu file", file=sys.stderr)
            return 1
        else:
            if (cuda / "include").is_dir():
                options.append(f"-I{cuda / 'include'}")
            source = Path(args.source)
            target = args.arch[len("sm_") :]
            cubin = nvrtc.compile(source.read_bytes(), source.name, target, options)
            Path(args.output or source.with_suffix(".cubin")).write_bytes(cubin)
    except (NvrtcError, OSError) as e:
        print(f"nvrtc: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main(sys.argv[1:]))
    sys.exit(130)
