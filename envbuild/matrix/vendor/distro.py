"""Toolkits in Debian's own archive, measured in its packages."""

import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from envbuild.io import proc
from envbuild.matrix.load import load
from envbuild.matrix.model import DistroToolkit
from envbuild.matrix.vendor import headers
from envbuild.matrix.vendor.archive import DEBIAN
from envbuild.matrix.vendor.index import Index
from envbuild.matrix.vendor.model import Measurer, Part, Reader, Unreachable, Unreadable
from envbuild.values.codec import Value

_TOOLKIT = "nvidia-cuda-toolkit"
_COMPILER = "nvidia-cuda-toolkit-gcc"  # brings the g++ that fits
_HEADERS = "nvidia-cuda-dev"
_TIMEOUT = 1800.0  # seconds; a gigabyte of xz is unpacked on the way
# Only the headers are written: the package holds gigabytes of static libraries.
_WANTED = ("*/crt/host_config.h", "*/crt/math_functions.h")
_UNPACK = (
    'deb=$1; dir=$2; shift 2; dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$dir" --wildcards "$@"'
)


class DebFacts(Value):
    """What a package says.

    Attributes:
        version, depends: of its control file.
        gcc_max: newest host compiler; ``bare``: functions declared bare; None = no header.
    """

    version: str
    depends: str = ""
    gcc_max: int | None = None
    bare: tuple[str, ...] | None = None


def read(deb: Path) -> DebFacts:
    """The facts of a package.

    Raises:
        Unreadable: it is no package.
    """
    done = proc.run(("dpkg-deb", "-f", str(deb), "Version", "Depends"), timeout=_TIMEOUT)
    said = dict(re.findall(r"^(Version|Depends): (.*)$", done.out, re.MULTILINE))
    if done.rc or "Version" not in said:
        what = f"{deb.name} is no package: {done.err.strip()}"
        raise Unreadable(what)
    with tempfile.TemporaryDirectory(prefix="envbuild-", dir=deb.parent) as folder:
        # tar says 2 where a package has no headers: nothing is found then.
        proc.run(("/bin/sh", "-c", _UNPACK, "sh", str(deb), folder, *_WANTED), timeout=_TIMEOUT)
        found = {
            path.name: path.read_text("utf-8", "replace") for path in Path(folder).rglob("*.h")
        }
    declared = found.get("math_functions.h")
    return DebFacts(
        version=said["Version"],
        depends=said.get("Depends", ""),
        gcc_max=headers.ceilings(found.get("host_config.h", "")).gcc,
        bare=None if declared is None else headers.bare(declared),
    )


PACKAGE = Reader("deb-1", DebFacts, read)


def _suite(row: DistroToolkit) -> str:
    codename = next(os.codename for os in load().oses if os.id == row.os)
    return f"{codename} {' '.join(row.components)}"


def _parts(row: DistroToolkit, index: Index) -> list[Part]:
    suite = _suite(row)
    found = []
    for name in (_TOOLKIT, _COMPILER, _HEADERS):
        file = index.archive.package(suite, name, "x86_64")
        if file is None:
            what = f"the archive has no {name} in {suite}"
            raise Unreachable(what)
        found.append(Part(file, PACKAGE))
    return found


def _measured(row: DistroToolkit, facts: Sequence[DebFacts]) -> Mapping[str, object]:  # noqa: ARG001
    toolkit, compiler, dev = facts
    release = toolkit.version.partition("~")[2].partition("-")[0]
    brought = re.findall(r"\bg\+\+-(\d+)", compiler.depends)
    values: dict[str, object] = {
        "cuda": ".".join(release.split(".")[:2]),
        "release": release,
        "version": toolkit.version,
    }
    if brought:
        values["packages"] = (_TOOLKIT, f"g++-{brought[0]}")
        values["gcc"] = min(int(brought[0]), dev.gcc_max or int(brought[0]))
    return values


def _remark(row: DistroToolkit, facts: Sequence[DebFacts]) -> str:  # noqa: ARG001
    """Reading does not tell ``patched_glibc``: compilers forgive a header in a system folder."""
    bare = facts[-1].bare
    return f"its headers declare {', '.join(bare)} bare, in a system folder" if bare else ""


def _listed(row: DistroToolkit, facts: Sequence[DebFacts], index: Index) -> Mapping[str, object]:  # noqa: ARG001
    suite = _suite(row)
    arches = (arch for arch in DEBIAN if index.archive.package(suite, _TOOLKIT, arch))
    return {"arches": tuple(arches)}


DISTRO = Measurer(
    table="distro",
    group="toolkits",
    fields=("cuda", "release", "version", "packages", "gcc", "arches"),
    parts=_parts,
    measured=_measured,
    remark=_remark,
    listed=_listed,
)
