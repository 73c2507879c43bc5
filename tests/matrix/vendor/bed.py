"""A made work folder of `matrix verify`: pages of an index and facts of wheels, no network."""

from pathlib import Path

from envbuild.io.net import Net
from envbuild.lock.index import IndexFile
from envbuild.matrix.model import Row
from envbuild.matrix.vendor.bench import Bench
from envbuild.matrix.vendor.fatbin import Library
from envbuild.matrix.vendor.fetch import Store
from envbuild.matrix.vendor.index import Index
from envbuild.matrix.vendor.model import Judged
from envbuild.matrix.vendor.triton import TritonFacts
from envbuild.matrix.vendor.verify import measure
from envbuild.matrix.vendor.wheel import WheelFacts, glibc_of
from envbuild.values.codec import Value, dump

DAY = "2026-10-28T10:00:00.000000Z"


class Bed:
    """A work folder as a finished run leaves it.

    Args:
        folder: the work folder.
        url: the index that it is said to be of.
    """

    def __init__(self, folder: Path, url: str = "https://index.invalid/simple") -> None:
        self.folder = folder
        self.net = Net(index_url=url, offline=True)
        self.pages: dict[str, list[IndexFile]] = {}

    def add(self, project: str, file: str, facts: Value | None = None, *, day: str = DAY) -> None:
        """A wheel on the index; with its facts it was read, without it was not."""
        digest = f"{len(self.pages):08d}{len(self.pages.get(project, ())):056d}"
        self.pages.setdefault(project, []).append(IndexFile(file, digest, day))
        if facts is not None:
            reader = "triton-1" if isinstance(facts, TritonFacts) else "wheel-1"
            (self.folder / f"{digest}.{reader}.json").write_bytes(dump(facts))

    def index(self) -> Index:
        for project, files in self.pages.items():
            (self.folder / f"index-{project}.json").write_bytes(dump(files))
        return Index(self.folder, self.net)

    def judge(self, table: str, row: Row) -> Judged:
        index = self.index()
        store = Store(self.folder, self.net, index.archive)
        return measure({table: (row,)}, Bench(index, store))[0][0]


def facts(file: str, *libraries: Library, **fields: object) -> WheelFacts:
    """Facts of a wheel of this name: what its name says, and these."""
    project, version, interpreter = file.split("-")[:3]
    python = f"{interpreter[2]}.{interpreter[3:]}" if interpreter.startswith("cp") else ""
    about = {"name": project, "version": version, "interpreter": python, "glibc": glibc_of(file)}
    return WheelFacts(**{**about, "libraries": libraries, **fields})  # type: ignore[arg-type]


def library(name: str, sass: dict[str, int], ptx: dict[str, int] | None = None) -> Library:
    return Library(
        name=name,
        machine="x86_64",
        fatbins=max([*sass.values(), *(ptx or {}).values(), 0]),
        sass=tuple(sass.items()),
        ptx=tuple((ptx or {}).items()),
        glibc="2.28",
    )


def differences(judged: Judged) -> dict[str, str]:
    return {one.field: one.measured for one in judged.differences}
