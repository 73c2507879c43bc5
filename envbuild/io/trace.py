"""What ``-v`` shows: each program that is run, each address that is asked."""

from collections.abc import Callable

_listener: Callable[[str], None] | None = None


def to(listener: Callable[[str], None] | None) -> None:
    """Who gets each line; None = nobody."""
    global _listener  # noqa: PLW0603
    _listener = listener


def say(text: str) -> None:
    """One line. Callers leave credentials out: no address with a password, no environment."""
    if _listener is not None:
        _listener(text)
