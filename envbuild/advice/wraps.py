"""Long lines that a terminal or a program broke in two, put together again."""

import re
from collections.abc import Iterator
from functools import cached_property

# What compose, BuildKit, the kernel or a frame puts before the rest of a line is none of it.
_BREAK = re.compile(
    rb"(?<=[^\n]{30})(?P<before>[ \t]{0,80})(?:\xe2\x94\x82[ \t]{0,8})?\n"
    rb"(?:[\w.-]{1,64} {1,40}\| |#\d{1,5} \d{1,6}\.\d{1,4} |\[ {0,8}\d{1,9}\.\d{1,9}\] "
    rb"|\xe2\x94\x82)?(?P<after>[ \t]{0,80})(?=\S)"
)
_TAIL = re.compile(rb"[a-z0-9_]+$")
_HEAD = re.compile(rb"[a-z0-9_]+")


class Breaks:
    """A text and the breaks behind those of its lines that are long enough to be broken."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._found = [
            (found.start(), found.end(), bool(found["before"] or found["after"]))
            for found in _BREAK.finditer(data)
        ]

    @cached_property
    def words(self) -> set[bytes]:
        """The words that a break parts, in lower case."""
        low = self.data.lower()
        return {
            tail[0] + head[0]
            for first, last, blank in self._found
            if not blank
            and (tail := _TAIL.search(low, max(0, first - 64), first))
            and (head := _HEAD.match(low, last, last + 64))
        }

    def joined(self, *, spaced: bool) -> bytes:
        """The text without the breaks.

        Args:
            spaced: each stands for a blank, as where a program broke between words; False = only
                where one stands at it, as where a terminal cut at its width.
        """
        return b"".join(self._parts(spaced=spaced))

    def _parts(self, *, spaced: bool) -> Iterator[bytes]:
        at = 0
        for first, last, blank in self._found:
            yield self.data[at:first]
            yield b" " if spaced or blank else b""
            at = last
        yield self.data[at:]

    def lines(self, at: int, *, spaced: bool) -> int:
        """How many lines of the text end before a place of the joined one."""
        for first, last, blank in self._found:
            if first >= at:
                break
            at += last - first - (spaced or blank)
        return self.data.count(b"\n", 0, at)
