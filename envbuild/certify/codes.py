"""Device code that a run made or carried, as our own reader sees it."""

import errno
import hashlib
import os
import stat
from pathlib import Path

from envbuild.certify import sass, sessions, steps
from envbuild.certify.seen import Code
from envbuild.errors import EnvbuildError

_LARGEST = 64 << 20


def found(bench: steps.Bench, promise: tuple[str, ...], nonce: str) -> tuple[Code, ...]:
    """What our own reader finds in the files of device code."""
    shipped = bench.probes / "add.fatbin"
    prebuilt = _code("prebuilt", [shipped])
    other = sessions.other_target(promise, prebuilt.targets)
    cubin = sass.extract(shipped.read_bytes(), other)
    codes = [prebuilt, _read("prebuilt-other", cubin)]
    expected = (bench.scratch / name for name in _compiled(promise))
    if compiled := [path for path in expected if os.path.lexists(path)]:
        codes.append(_code("image", compiled, sessions.kernel_of(nonce)))
    if (bench.scratch / "other.fatbin").is_file():
        codes.append(_code("other", [bench.scratch / "other.fatbin"]))
    return tuple(codes)


def _compiled(promise: tuple[str, ...]) -> tuple[str, ...]:
    """Files that the image's compiler makes: nvcc one for all targets, NVRTC one for each."""
    return ("image.fatbin", *(f"image.{target}.cubin" for target in promise))


def _code(name: str, paths: list[Path], kernel: str = "") -> Code:
    """One Code of one file or several."""
    try:
        parts = [_read(name, _plain_file(path), kernel) for path in paths]
    except OSError as e:
        return Code(name=name, sha256="", error=str(e))
    if len(parts) == 1:
        return parts[0]
    sums = hashlib.sha256("".join(part.sha256 for part in parts).encode())
    return Code(
        name=name,
        sha256=sums.hexdigest(),
        targets=tuple(target for part in parts for target in part.targets),
        error=next((part.error for part in parts if part.error), ""),
    )


def _read(name: str, data: bytes, kernel: str = "") -> Code:
    """Its targets, or why it cannot be read or is not what a kernel of this name was made in."""
    sha256 = hashlib.sha256(data).hexdigest()
    try:
        if kernel and (strange := sass.lacking(data, kernel)):
            error = f"the code for sm_{strange[0]} was not compiled in this run"
            return Code(name=name, sha256=sha256, error=error)
        return Code(name=name, sha256=sha256, targets=sass.targets(data))
    except EnvbuildError as e:
        return Code(name=name, sha256=sha256, error=e.what)


def _plain_file(path: Path) -> bytes:
    """Bytes of a file that an image may have written: no link is followed, no pipe waited for."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as f:
        if not stat.S_ISREG(os.fstat(f.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a plain file")
        return f.read(_LARGEST)
