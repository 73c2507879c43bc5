"""Known texts in logs: read as a stream, in bounded memory, whatever the bytes are.

A text of `errors.yaml` is no regular expression: it has literal pieces and at most two places of
bounded length, so that no log can make the search slow. Most of a log is only split into words:
a text is looked for where all of its words stand, first by its longest literal piece. What no line
holds is looked for once more over the breaks that a terminal puts into long lines.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol

from envbuild.advice.wraps import Breaks
from envbuild.errors import InputError
from envbuild.values.codec import Pairs, replace
from envbuild.values.diagnosis import Seen

if TYPE_CHECKING:
    from envbuild.matrix.model.errors import ErrorText

_CHUNK = 1 << 20
_SPAN = 512
"""Bytes of a line on either side of a literal piece that are looked at."""
_SHOWN = 240
_COPIED = 4 << 20
"""Bytes of a log that may have been copied from a terminal."""
_COUNTED = 1_000
_TRIES = 100_000
"""Pieces of one text that turn out to be something else; a log with more is made to cost time."""

_PLACE = r"\{((?:[A-Za-z]\w*)?)\}"
_PLACES = 2
_WORD = r"[^\s'\"`,;()<>\[\]{}|]{1,120}?"
_GAP = r"[^\n\x0b]{0,100}?"
_ANSI = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]{0,500}(?:\x07|\x1b\\)|[@-Z\\-_])")
# Letters in lower case, digits and _; all else parts words.
_WORDS = bytes(c if chr(c).isascii() and (chr(c).isalnum() or c == 95) else 32 for c in range(256))
# A line that only returns the carriage is a line to us, and none to who counts lines.
_BREAK = re.compile(rb"[\n\x0b]")

_CALLS = (
    *("cuda error", "cuda runtime error", "cuda driver error", "cuda failure"),
    *("cuda unknown error", "cuda call failed", "cuda status", "cudaerror", "cuda_error"),
    *("cuinit", "cudagetdevicecount", "cudagetlasterror", "cudamalloc", "cudasetdevice"),
    *("cudadevicesynchronize", "cudalaunchkernel", "cuda initialization", "cuda init"),
)
# A number that says which error: not a line of a file (`main.cu:222`), a size or a version.
_CODE = re.compile(
    r"(?:error|err|code|returned|failed|failure|status|result)(?:[ \t]+(?:code|with|number)){0,2}"
    r"[\s:=(#]{1,3}(\d{1,3})(?![\w.]|:\d)",
    re.IGNORECASE,
)


class Stream(Protocol):
    """What a log is read from."""

    def read(self, size: int, /) -> bytes:
        """The next bytes, at most ``size``; empty at the end."""


class Text(NamedTuple):
    """One text, ready to be searched.

    Attributes:
        id: of its row; empty = any of the codes, after ``text``.
        words: whole words that it cannot be without, lower case.
        text: as the row has it.
    """

    id: str
    words: frozenset[bytes]
    text: str


class Signatures:
    """The texts of some rows; searching several logs shares what was prepared.

    Raises:
        InputError: a text of an overlay has no word to search for, or more than two places.
    """

    def __init__(self, rows: "Iterable[ErrorText]") -> None:
        rows = tuple(rows)
        self.order = {row.id: at for at, row in enumerate(rows)}
        self.codes = {row.code: row.id for row in rows if row.code is not None}
        texts = [(row.id, text) for row in rows for text in row.texts]
        texts += [("", call) for call in _CALLS if self.codes]
        self._texts = [Text(id, _words(text), text) for id, text in texts]
        for one in self._texts:
            if not one.words or one.text.count("{") > _PLACES:
                what = f"errors/{one.id}: the text {one.text!r} cannot be searched for"
                raise InputError(what, fix="a text has a whole word, and at most two places")

    def scan(self, stream: Stream, name: str) -> tuple[Seen, ...]:
        """The texts that stand in a log, in the order of their rows.

        Args:
            stream: the log; read to its end in pieces.
            name: what the user calls it.
        """
        return _Scan(self, name, list(self._texts)).run(stream)


class _Scan:
    """One pass over one log."""

    def __init__(self, signatures: Signatures, name: str, texts: list[Text]) -> None:
        self.signatures = signatures
        self.name = name
        self.texts = texts
        self.found: dict[str, Seen] = {}
        self.tries: dict[Text, int] = {}
        self.places: dict[str, set[int]] = {}
        self.lines = self.parts = 0

    def run(self, stream: Stream) -> tuple[Seen, ...]:
        last: deque[tuple[bytes, int]] = deque(maxlen=2)
        for data, start, end in _parts(stream):
            self._part(data, start, end)
            # What a terminal broke was copied from it; of a long log only the ends are looked at.
            broken = (data[:end], self.lines - data.count(b"\n", 0, start))
            if self.parts < _COPIED:
                self._wrapped(*broken)
            else:
                last.append(broken)
            self.parts += len(data)
            self.lines += data.count(b"\n", start, end)
        for broken in last:
            self._wrapped(*broken)
        order = self.signatures.order
        seen = (replace(one, count=self._count(one.id)) for one in self.found.values())
        return tuple(sorted(seen, key=lambda one: order[one.id]))

    def _count(self, id: str) -> int:
        return max(1, len(self.places.get(id, ())))

    def _part(self, data: bytes, start: int, end: int) -> None:
        """Look for every text that begins within ``start`` and ``end``."""
        low = data.lower()
        words = set(low.translate(_WORDS).split())
        done = set()
        for text in self.texts:
            if not text.words <= words:
                continue
            piece = _piece(text.text)
            at = low.find(piece, start)
            while -1 < at < end:
                if not self._hit(text, data, at, start):
                    done.add(text)
                    break
                at = low.find(piece, at + len(piece))
        if done:
            self.texts = [text for text in self.texts if text not in done]

    def _wrapped(self, data: bytes, lines: int) -> None:
        """Look over the breaks within long lines for texts that no line holds.

        A text with a gap is left out: lines that have nothing to do with each other would fill it.

        Args:
            data: a part, and the end of the one before it.
            lines: how many lines of the log stand before the data.
        """
        words = set(data.lower().translate(_WORDS).split())
        breaks = Breaks(data)
        whole = words | breaks.words
        left = [text for text in self.texts if text.id and text.words <= whole]
        left = [text for text in left if text.id not in self.found and "{}" not in text.text]
        for spaced in (True, False) if left else ():
            view = breaks.joined(spaced=spaced)
            low = view.lower()
            for text in left:
                place = self._over(text, view, low)
                if place is not None and text.id not in self.found:
                    found, line, column, at = place
                    number = lines + breaks.lines(at, spaced=spaced) + 1
                    self._note(text.id, found, line, column, number)

    def _over(self, text: Text, view: bytes, low: bytes) -> tuple[Pairs, str, int, int] | None:
        """The captured words, the line, and where in it and in all the text stands."""
        piece = _piece(text.text)
        at = low.find(piece)
        for _ in range(_COUNTED):
            if at < 0:
                return None
            first, last = _line(view, at, at + len(piece))
            line = view[first:last].decode("utf-8", "replace")
            if hit := self._judged(text, line, 0):
                return hit[1], line, hit[2], at
            at = low.find(piece, at + len(piece))
        return None

    def _hit(self, text: Text, data: bytes, at: int, start: int) -> bool:
        """Note the text if all of it stands around its piece; False = it was met often enough.

        A line counts once, however many spellings of one error it holds.
        """
        tries = self.tries[text] = self.tries.get(text, 0) + 1
        first, last = _line(data, at, at + len(_piece(text.text)))
        line = data[first:last].decode("utf-8", "replace")
        hit = self._judged(text, line, len(data[first:at].decode("utf-8", "replace")))
        if hit is not None:
            id, words, column = hit
            places = self.places.setdefault(id, set())
            if len(places) == _COUNTED:
                return False
            places.add(self.parts + first)
            number = self.lines + data.count(b"\n", start, at) + 1
            known = self.found.get(id)
            if known is None or number < known.line:
                self._note(id, words, line, column, number)
        return tries < _TRIES

    def _note(self, id: str, words: Pairs, line: str, column: int, number: int) -> None:
        text = _shown(line, column)
        self.found[id] = Seen(id=id, log=self.name, line=number, text=text, words=words)

    def _judged(self, text: Text, line: str, column: int) -> tuple[str, Pairs, int] | None:
        """The row whose text the line holds, the captured words, and where it begins."""
        if not text.id:
            code = _CODE.search(line, column, column + 120)
            id = self.signatures.codes.get(int(code[1])) if code else None
            return (id, Pairs(), column) if id else None
        match = _pattern(text.text).search(line)
        if match is None:
            return None
        words = {name: word.rstrip(".:") for name, word in match.groupdict().items() if word}
        return text.id, Pairs(words), match.start()


def _pieces(text: str) -> list[str]:
    """Literal pieces and, at odd places, names of words; an empty name is a gap.

    >>> _pieces("arch '{cc}' of {} here")
    ["arch '", 'cc', "' of ", '', ' here']
    """
    return re.split(_PLACE, text)


@lru_cache(maxsize=1024)
def _piece(text: str) -> bytes:
    """The longest literal piece, lower case."""
    return max(_pieces(text)[::2], key=len).lower().encode()


def _words(text: str) -> frozenset[bytes]:
    """The words that stand whole in the text: not those that a place goes on."""
    marked = re.sub(rf"\w*{_PLACE}\w*", " ", text) if "{" in text else text
    return frozenset(marked.lower().encode().translate(_WORDS).split())


@lru_cache(maxsize=1024)
def _pattern(text: str) -> re.Pattern[str]:
    """The regular expression of a text; a word at either end ends there.

    Made where the text may stand: compiling all of them would cost more than a short run.
    """
    pieces = _pieces(text)
    out = [re.escape(piece).replace(r"\ ", r"[ \t]+") for piece in pieces]
    out[1::2] = [f"(?P<{name}>{_WORD})" if name else _GAP for name in pieces[1::2]]
    if len(out) == 5 and out[1] == out[3] != _GAP:
        out[3] = f"(?P={pieces[1]})"
    before = r"(?<![A-Za-z0-9_])" if re.match(r"\w", text) else ""
    after = r"(?![A-Za-z0-9_])" if re.search(r"\w$", text) else ""
    if text.endswith("}"):
        after = r"(?=[\s'\"`,;()<>\[\]{}|]|$)"
    return re.compile(before + "".join(out) + after, re.IGNORECASE)


def _line(data: bytes, first: int, last: int) -> tuple[int, int]:
    """The line around a place, at most `_SPAN` bytes of it on either side."""
    low = max(0, first - _SPAN)
    before = max(data.rfind(b"\n", low, first), data.rfind(b"\x0b", low, first))
    after = _BREAK.search(data, last, last + _SPAN)
    return (before + 1 if before >= 0 else low), (after.start() if after else last + _SPAN)


def _shown(line: str, column: int) -> str:
    first = max(0, column - 60) if len(line) > _SHOWN else 0
    text = line[first : first + _SHOWN]
    return "".join(c if c.isprintable() else " " for c in text).strip()


def _parts(stream: Stream) -> Iterator[tuple[bytes, int, int]]:
    """Pieces of a log, each with the bounds within which a text may begin."""
    before = pending = b""
    for chunk in _decoded(stream):
        data = pending + chunk
        newline = data.rfind(b"\n") + 1
        # A line that does not end is looked at with what stands around the cut.
        end = newline if len(data) - newline <= 2 * _SPAN else len(data) - _SPAN
        body = _plain(data[:end])
        if body:
            yield before + body + _plain(data[end : end + _SPAN]), *_bounds(before, body)
            before = (before + body)[-_SPAN:]
        pending = data[end:]
    body = _plain(pending)
    yield before + body, *_bounds(before, body)


def _bounds(before: bytes, body: bytes) -> tuple[int, int]:
    return len(before), len(before) + len(body)


def _plain(data: bytes) -> bytes:
    if b"\x1b" in data:
        data = _ANSI.sub(b"", data)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\x0b")
    return data


def _decoded(stream: Stream) -> Iterator[bytes]:
    """The log as UTF-8; PowerShell's ``>`` writes UTF-16."""
    first = stream.read(_CHUNK)
    encoding = _utf16(first[:4096])
    if encoding is None:
        while first:
            yield first
            first = stream.read(_CHUNK)
        return
    from codecs import getincrementaldecoder

    decoder = getincrementaldecoder(encoding)("replace")
    while first:
        yield decoder.decode(first).lstrip("\ufeff").encode("utf-8", "replace")
        first = stream.read(_CHUNK)
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def _utf16(head: bytes) -> str | None:
    """The form of UTF-16 that a log begins with, by its mark or by the zeros of plain English."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16-le" if head[0] == 0xFF else "utf-16-be"
    half = len(head) // 2
    if half < 4:
        return None
    even, odd = head[::2].count(0), head[1::2].count(0)
    if odd > 0.7 * half and even < 0.1 * half:
        return "utf-16-le"
    return "utf-16-be" if even > 0.7 * half and odd < 0.1 * half else None
