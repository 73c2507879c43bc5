"""Logs as streams: encodings, escapes, cuts between pieces, sizes."""

import io
import itertools
import random
import resource
import textwrap
from collections.abc import Iterator

import pytest

from envbuild.advice import signatures
from envbuild.advice.signatures import Signatures, Stream
from envbuild.matrix.load import load_errors
from envbuild.values.codec import replace
from envbuild.values.diagnosis import Seen

EVERY = Signatures(load_errors().errors)
LINE = "RuntimeError: CUDA error: no kernel image is available for execution on the device"


def scan(data: bytes | Stream) -> tuple[Seen, ...]:
    return EVERY.scan(io.BytesIO(data) if isinstance(data, bytes) else data, "log")


class Drip:
    """Gives a log in pieces of any size, as a pipe does."""

    def __init__(self, data: bytes, sizes: Iterator[int]) -> None:
        self.data = data
        self.sizes = sizes

    def read(self, size: int, /) -> bytes:
        size = next(self.sizes)
        piece, self.data = self.data[:size], self.data[size:]
        return piece


@pytest.mark.parametrize(
    "data",
    [
        LINE.encode(),
        f"#12 0.312 {LINE}\n".encode(),
        f"first\r\n{LINE}\r\n".encode(),
        f" 12% done\r 40% done\r{LINE}\r".encode(),
        f"\x1b[1;31m{LINE[:25]}\x1b[0m{LINE[25:]}\n".encode(),
        f"\x1b]8;;https://example.org\x07{LINE}\x1b]8;;\x07\n".encode(),
        LINE.upper().encode(),
        f"first\n{LINE}\n".encode("utf-16"),
        f"first\n{LINE}\n".encode("utf-16-le"),
        f"first\n{LINE}\n".encode("utf-16-be"),
        b"\xef\xbb\xbf" + LINE.encode(),
        b"\x00\xff\xfe\x80" * 999 + b"\n" + LINE.encode() + b"\n" + bytes(range(256)) * 99,
        b"x " * (1 << 20) + LINE.encode() + b" y" * (1 << 20),
        "é\u2028ß".encode() * 99 + LINE.encode(),
    ],
    ids=["plain", "buildkit", "crlf", "carriage", "colour", "link", "case", "utf-16", "utf-16-le",
         "utf-16-be", "bom", "binary", "one-long-line", "other-letters"],
)  # fmt: skip
def test_a_text_is_found_in_any_dress(data: bytes) -> None:
    (seen,) = (one for one in scan(data) if one.id == "cuda-209")
    assert "no kernel image" in seen.text.lower()
    assert seen.text.isprintable()
    assert len(seen.text) <= 240


def test_a_text_is_found_wherever_the_stream_is_cut() -> None:
    data = f"{'a' * 50}\n{LINE}\nend\n".encode()
    for size in range(1, 90):
        stream = Drip(data, itertools.repeat(size))
        (seen,) = (one for one in scan(stream) if one.id == "cuda-209")
        assert (seen.line, seen.count) == (2, 1)


def test_a_long_line_is_cut_and_nothing_is_counted_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signatures, "_CHUNK", 4096)
    for before in range(3000, 5200, 7):
        data = b"x" * before + b" " + LINE.encode() + b" " + b"y" * 6000
        (seen,) = (one for one in scan(data) if one.id == "cuda-209")
        assert seen.count == 1


def test_lines_are_counted_as_an_editor_does_and_words_are_those_of_the_first() -> None:
    lines = ["a\rb"] * 9 + ["nvcc fatal   : Unsupported gpu architecture 'compute_60'"]
    lines += ["nvcc fatal   : Unsupported gpu architecture 'compute_61'"] * 5
    (seen,) = (s for s in scan("\n".join(lines).encode()) if s.id == "unsupported-arch")
    assert (seen.line, seen.count, seen.words.get("target")) == (10, 6, "compute_60")


def test_codes_are_read_where_an_error_is_named_and_nowhere_else() -> None:
    def ids(text: str) -> set[str]:
        return {seen.id for seen in scan(text.encode())}

    assert "cuda-804" in ids("cuInit(0) failed with error code 804")
    assert "cuda-35" in ids("CUDA error at main.cu:804 code=35(x)")
    assert not ids("CUDA error at main.cu:804")
    assert not ids("cudaMalloc of 804 MiB took 35 ms")
    assert not ids("HTTP error 804")


def test_counting_ends_and_so_does_the_search() -> None:
    (seen,) = (s for s in scan(f"{LINE}\n".encode() * 5000) if s.id == "cuda-209")
    assert seen.count == 1000


def test_memory_stays_bounded_over_a_long_log() -> None:
    """64 MiB of a build log, of near misses and of random bytes; each once."""
    rng = random.Random(1)  # noqa: S311
    near = (
        b"CUDA error is not supported; libcuda.so.1 (libc6) /dev/shm/nccl-x of previous function\n"
    )
    plain = b"#9 1.2 nvcc -gencode arch=compute_86,code=sm_86 -c a.cu -o a.o\n"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for piece in (near * 11_000, plain * 16_000, rng.randbytes(1 << 20)):

        class Long:
            left = 64

            def read(self, size: int, /, piece: bytes = piece) -> bytes:  # noqa: ARG002
                self.left -= 1
                return piece if self.left >= 0 else b""

        scan(Long())
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 64 * 1024, f"{grown} KiB"


def test_a_name_that_stands_twice_is_one_word_twice() -> None:
    row = replace(load_errors().errors[0], id="x", texts=("have {name} and {name} here",))
    mine = Signatures([row])
    assert mine.scan(io.BytesIO(b"have a1 and a1 here"), "log")[0].words.get("name") == "a1"
    assert not mine.scan(io.BytesIO(b"have a1 and a2 here"), "log")
    assert Signatures([replace(row, texts=("odd {1x} place",))]).scan(
        io.BytesIO(b"an odd {1x} place"), "log"
    )


def folded(prefix: str, width: int) -> bytes:
    """The line as a program that breaks between words prints it, each part behind a prefix."""
    parts = textwrap.wrap(LINE, width)
    return "\n".join(f"{prefix}{part}" for part in parts).encode()


@pytest.mark.parametrize(
    "data",
    [
        f"{LINE[:40]}\n{LINE[40:]}".encode(),
        f"{LINE[:60]}\r\n{LINE[60:]}\r\nmore\r\n".encode(),
        f"{LINE[:41]}\n{LINE[41:]}".encode("utf-16"),
        *(folded("", width) for width in (40, 45, 60, 80)),
        folded("web-1  | ", 60),
        folded("#12 3.456 ", 50),
        folded("\u2502   ", 50),
        f"{'x' * 500}\n".encode() * 20_000 + folded("", 60) + b"\nnot built\n",
        f"{'x' * 500}\n".encode() * 20_000 + folded("", 60),
    ],
    ids=["word", "crlf", "utf-16", "40", "45", "60", "80", "compose", "buildkit", "frame", "end",
         "last"],
)  # fmt: skip
def test_a_text_is_found_over_the_breaks_of_a_terminal(data: bytes) -> None:
    (seen,) = (one for one in scan(data) if one.id == "cuda-209")
    assert "no kernel image" in seen.text
    assert seen.count == 1


def test_the_line_of_a_broken_text_is_the_one_where_it_begins() -> None:
    found = scan(f"first\nsecond\n{LINE[:60]}\n{LINE[60:]}\nmore\n".encode())
    assert [seen.line for seen in found if seen.id == "cuda-209"] == [3]


@pytest.mark.parametrize(
    "text",
    [
        "it said that there was no kernel image\n\nis available for execution on the device",
        "no kernel\nimage\nis available for execution on the device",
        f"{'x' * 40} pinned\nthe queue is out of memory for no reason at all",
        f"{'x' * 40}could not select\n      | device driver",
    ],
    ids=["empty-line", "short-lines", "gap", "within"],
)
def test_lines_that_are_no_line_are_not_put_together(text: str) -> None:
    assert scan(text.encode()) == ()
