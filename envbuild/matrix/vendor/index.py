"""What a package index lists, asked once a project; and the wheels that one platform takes."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from envbuild.errors import MachineError
from envbuild.io import files, pip
from envbuild.io.net import Net, without_login
from envbuild.lock import index
from envbuild.matrix.vendor.archive import Archive
from envbuild.matrix.vendor.model import Unreachable, VendorFile
from envbuild.values.codec import dump, load


class Listed(NamedTuple):
    """A wheel of the index, with what its name says and when it came (YYYY-MM-DD, or empty)."""

    file: VendorFile
    version: Version
    tags: frozenset[Tag]
    uploaded: str = ""

    def fits(self, arch: str) -> bool:
        """Whether CPython on Linux takes it, on ``x86_64`` or ``aarch64``; or it is for any."""
        return any(
            tag.platform == "any" or ("linux" in tag.platform and tag.platform.endswith(arch))
            for tag in self.tags
            if tag.interpreter.startswith(("cp", "py"))
        )

    @property
    def pythons(self) -> tuple[str, ...]:
        """CPython versions it says it is for, ``3.12``; none where it takes any."""
        found = (re.fullmatch(r"cp(\d)(\d+)", tag.interpreter) for tag in self.tags)
        return tuple(sorted({f"{match[1]}.{match[2]}" for match in found if match}))


class Index:
    """A package index; each project's page is asked for once, and kept for ``--offline``.

    ``archive`` is the distribution's archive beside it.

    Args:
        work: folder of the kept pages.
        net: index, CA.
        say: takes a line for each page that is asked for.
    """

    def __init__(self, work: Path, net: Net, say: Callable[[str], None] = lambda _: None) -> None:
        self.archive = Archive(work, net, say)
        self._work = work
        self._net = net
        self._say = say
        self._url: str | None = None
        self._pages: dict[str, tuple[Listed, ...]] = {}

    @property
    def url(self) -> str:
        """The address that is asked."""
        self._url = self._url or self._net.index_url or pip.default_index(self._net)
        return self._url

    def wheels(self, project: str) -> tuple[Listed, ...]:
        """All wheels of a project, oldest version first; none where the index has none.

        Raises:
            MachineError: the index does not answer.
        """
        if project not in self._pages:
            listed = [_listed(project, entry) for entry in self._page(project)]
            found = sorted((e for e in listed if e), key=lambda e: (e.version, e.file.file))
            self._pages[project] = tuple(found)
        return self._pages[project]

    def check(self) -> None:
        """An address that is no index has nothing of anything: that is no verdict on a row.

        Raises:
            MachineError: projects were asked for, and there is no wheel of any of them.
        """
        if self._pages and not any(self._pages.values()):
            what = f"{without_login(self.url)} lists no wheel of {', '.join(sorted(self._pages))}"
            fix = "check that --index-url leads to a package index, not to a login page"
            raise MachineError(what, fix=fix)

    def _page(self, project: str) -> tuple[index.IndexFile, ...]:
        kept = self._work / f"index-{project}.json"
        if self._net.offline and kept.is_file():
            return load(tuple[index.IndexFile, ...], kept.read_bytes(), str(kept))
        if self._net.offline:
            what = f"the index's page of {project} was not read before, and --offline is set"
            raise MachineError(what, fix="run it once without --offline")
        self._say(f"index     {project}")
        page = index.files(self.url, project, self._net)
        files.write(kept, dump(page))
        return page

    def releases(self, project: str, arch: str = "x86_64") -> tuple[Listed, ...]:
        """Wheels of final releases for Linux on ``arch``, oldest version first."""
        return tuple(
            wheel
            for wheel in self.wheels(project)
            if not wheel.version.is_prerelease and wheel.fits(arch)
        )

    def one(self, project: str, version: str, arch: str = "x86_64") -> VendorFile:
        """The wheel of one version; of several interpreters' wheels that of the oldest.

        A local part (``+cu126``) is passed over. Of several builds it is the newest, as for pip.

        Raises:
            Unreachable: the index lists none.
        """
        wanted = Version(version)
        fitting = [
            wheel
            for wheel in self.wheels(project)
            if Version(wheel.version.public) == wanted and wheel.fits(arch)
        ]
        if not fitting:
            what = f"the index lists no Linux {arch} wheel of {project} {version}"
            raise Unreachable(what)
        return min(fitting, key=_by_python).file


def _by_python(wheel: Listed) -> tuple[list[Version], int, str]:
    build = parse_wheel_filename(wheel.file.file)[2]
    return [Version(python) for python in wheel.pythons], -build[0] if build else 0, wheel.file.file


def _listed(project: str, entry: index.IndexFile) -> Listed | None:
    try:
        _, version, _, tags = parse_wheel_filename(entry.file)
    except InvalidWheelFilename:
        return None  # a source archive
    if re.fullmatch(r"[0-9a-f]{64}", entry.sha256) is None or "/" in entry.file:
        return None  # both become names of files here
    file = VendorFile(project=project, version=str(version), file=entry.file, sha256=entry.sha256)
    return Listed(file, version, tags, entry.uploaded[:10])
