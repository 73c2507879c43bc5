"""What is read in the words of programs, and said in ours."""

from envbuild.certify.seen import Ran

NO_GLIBC = "the image has no glibc loader (musl, or nothing but a static program)"
_ROOM = ("No space left on device", "Read-only file system", "Disk quota exceeded")


def last_line(text: str) -> str:
    """The first line that names an error, else the last one; at most 300 characters."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    named = next((line for line in lines if "error" in line.lower()), None)
    return (named or (lines[-1] if lines else "no message"))[:300]


def no_room(ran: Ran) -> str:
    """What a step says of a disk that is full or cannot be written; empty = nothing."""
    full = any(word in ran.err for word in _ROOM)
    return f"no room to work in: {last_line(ran.err)}" if full else ""
