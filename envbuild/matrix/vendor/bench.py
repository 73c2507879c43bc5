"""Where files are read: each is fetched once, for all readers that still want it."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from envbuild.matrix.vendor.fetch import Store
from envbuild.matrix.vendor.index import Index
from envbuild.matrix.vendor.model import (
    Part,
    Reader,
    Unmeasurable,
    Unreachable,
    Unreadable,
    VendorFile,
    Verdict,
)
from envbuild.values.codec import Value

#: What a row gets that could not be compared, by what stood in the way.
VERDICTS: dict[type[Exception], Verdict] = {
    Unreachable: "not reachable",
    Unmeasurable: "cannot be measured",
    Unreadable: "cannot be measured",
}


class Bench:
    """Reads parts.

    Args:
        index: what there is.
        store: where facts are kept.
    """

    def __init__(self, index: Index, store: Store) -> None:
        self.index = index
        self._store = store
        self._faults: dict[tuple[str, str], Exception] = {}

    def read(self, parts: Iterable[Part]) -> None:
        """Read what no earlier run read; what does not come is told by `facts`.

        Raises:
            MachineError: the disk is full, or the work folder cannot be written.
        """
        wanted: dict[str, tuple[VendorFile, list[Reader]]] = {}
        for part in parts:
            known = (part.file.sha256, part.reader.name) in self._faults
            if not known and self._store.kept(part) is None:
                readers = wanted.setdefault(part.file.sha256, (part.file, []))[1]
                if part.reader not in readers:
                    readers.append(part.reader)
        for file, readers in wanted.values():
            self._read(file, readers)

    def _read(self, file: VendorFile, readers: Sequence[Reader]) -> None:
        try:
            with self._store.fetched(file) as path:
                for reader in readers:
                    self._take(Part(file, reader), path)
        except Unreachable as e:
            self._faults |= {(file.sha256, reader.name): e for reader in readers}

    def _take(self, part: Part, path: Path) -> None:
        try:
            self._store.keep(part, part.reader.read(path))
        except Unreadable as e:
            self._faults[part.file.sha256, part.reader.name] = e

    def facts(self, parts: Sequence[Part]) -> list[Value]:
        """The facts of parts that were read.

        Raises:
            Unreachable: a file did not come.
            Unreadable: a file does not hold what it should.
        """
        found = []
        for part in parts:
            kept = self._store.kept(part)
            if kept is None:
                raise self._faults[part.file.sha256, part.reader.name]
            found.append(kept)
        return found
