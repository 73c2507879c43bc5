"""A wheel as it came, opened as the zip file that it is: what it requires, what it holds.

Nothing of it is imported or unpacked. It may be anything: sizes are bounded before a byte is read.
"""

import contextlib
import errno
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from packaging.metadata import parse_email
from packaging.utils import parse_wheel_filename

from envbuild.matrix.vendor import fatbin
from envbuild.matrix.vendor.model import Reader, Unreadable
from envbuild.values.codec import Value

#: Bytes. METADATA is a few kilobytes; the largest library of a framework is about two gigabytes.
_MOST_TEXT = 4 << 20
_MOST_LIBRARIES = 16 << 30
_LIBRARY = re.compile(r"\.so(\.\d+)*$")
# What `zipfile` raises for archives that are cut, damaged, encrypted or of unknown compression.
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, UnicodeDecodeError)
_CUDA = re.compile(r"""(?:^cuda\b[^=\n]*=|'cuda_version',) *'(\d+\.\d+)""", re.MULTILINE)
_LEGACY = {"manylinux1": 5, "manylinux2010": 12, "manylinux2014": 17}


class WheelFacts(Value):
    """What a wheel says and holds.

    Attributes:
        name, version: of the project, as written.
        interpreter: the oldest CPython that it is for, ``3.12``; empty = its name says none.
        python: PEP 440 range of interpreters, as written.
        requires: its requirements, as written.
        glibc: C library that its platform tag promises, ``2.28``; None where the tag names none.
        cuda: CUDA that it says it was built with (``version.py``, ``build_info.py``), ``13.2``.
        libraries: its shared libraries.
    """

    name: str
    version: str
    interpreter: str = ""
    python: str = ""
    requires: tuple[str, ...] = ()
    glibc: str | None = None
    cuda: str | None = None
    libraries: tuple[fatbin.Library, ...] = ()


def read(wheel: Path) -> WheelFacts:
    """All that is asked of a framework's wheel.

    Raises:
        Unreadable: it is no wheel, cut, or larger inside than any framework is.
    """
    with opened(wheel) as archive:
        about, _ = parse_email(text(archive, r"[^/]+\.dist-info/METADATA", required=True))
        return WheelFacts(
            name=about.get("name", ""),
            version=about.get("version", ""),
            interpreter=_interpreter(wheel.name),
            python=about.get("requires_python", ""),
            requires=tuple(about.get("requires_dist", ())),
            glibc=glibc_of(wheel.name),
            cuda=_cuda(archive),
            libraries=tuple(_libraries(archive)),
        )


WHEEL = Reader("wheel-1", WheelFacts, read)


def glibc_of(file: str) -> str | None:
    """The oldest C library that a wheel's file name promises to run on; None where it names none.

    Several tags are alternatives: the least counts.
    """
    least = []
    for tag in parse_wheel_filename(file)[3]:
        if match := re.match(r"manylinux_2_(\d+)_", tag.platform):
            least.append(int(match[1]))
        elif (name := tag.platform.partition("_")[0]) in _LEGACY:
            least.append(_LEGACY[name])
    return f"2.{min(least)}" if least else None


def _interpreter(file: str) -> str:
    names = (re.fullmatch(r"cp(\d)(\d+)", tag.interpreter) for tag in parse_wheel_filename(file)[3])
    found = {(int(match[1]), int(match[2])) for match in names if match}
    return ".".join(map(str, min(found))) if found else ""


@contextlib.contextmanager
def opened(wheel: Path) -> Iterator[zipfile.ZipFile]:
    """The archive; whatever is wrong with it becomes `Unreadable`."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            yield archive
    except _BROKEN as e:
        what = f"{wheel.name} is no whole wheel: {e}"
        raise Unreadable(what) from e
    except OSError as e:
        if e.errno != errno.EINVAL:  # a directory that points before the file's start
            raise
        what = f"{wheel.name} is no whole wheel: it points outside itself"
        raise Unreadable(what) from e


def _libraries(archive: zipfile.ZipFile) -> Iterator[fatbin.Library]:
    members = [info for info in archive.infolist() if _LIBRARY.search(info.filename)]
    if sum(info.file_size for info in members) > _MOST_LIBRARIES:
        what = f"its libraries are larger than {_MOST_LIBRARIES >> 30} GiB"
        raise Unreadable(what)
    for info in members:
        with archive.open(info) as stream:
            if library := fatbin.read(info.filename, stream):
                yield library


def text(archive: zipfile.ZipFile, pattern: str, *, required: bool = False) -> str:
    """The first member whose whole path matches, as text; empty where there is none."""
    for info in archive.infolist():
        if re.fullmatch(pattern, info.filename):
            if info.file_size > _MOST_TEXT:
                what = f"{info.filename} is larger than {_MOST_TEXT >> 20} MiB"
                raise Unreadable(what)
            return archive.read(info).decode("utf-8", "replace")
    if required:
        what = f"it has no member {pattern}"
        raise Unreadable(what)
    return ""


def _cuda(archive: zipfile.ZipFile) -> str | None:
    """The CUDA, ``13.2``, of torch's ``version.py`` or of tensorflow's ``build_info.py``."""
    build = text(archive, r"torch/version\.py|tensorflow/python/platform/build_info\.py")
    match = _CUDA.search(build)
    return match[1] if match else None
