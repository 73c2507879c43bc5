"""Ctrl-C and its like: one wish to end, however many signals say so, and the time to clean up."""

import contextlib
import signal
import threading
import time
from collections.abc import Iterator

#: Seconds in which more signals say the same: a terminal and a wrapper both pass a Ctrl-C on, a
#: scheduler sends TERM and HUP. Each would cut off the cleaning up that the one before began.
SAME = 5.0
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
_came: list[float] = []
_last: list[int] = []


@contextlib.contextmanager
def watch() -> Iterator[None]:
    """Meanwhile a scheduler's or a closed terminal's end is as clean as Ctrl-C."""
    forget()
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in (getattr(signal, name) for name in _NAMES if hasattr(signal, name)):
            before[number] = signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            # None: no program in Python set it.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def forget() -> None:
    """What came was another's: a terminal's Ctrl-C for the program that it shows."""
    _came.clear()
    _last.clear()


def came() -> bool:
    """Whether a signal came since `watch`."""
    return bool(_came)


def last() -> int:
    """The signal that came last; Ctrl-C's where none did."""
    return _last[-1] if _last else signal.SIGINT


def _interrupt(number: int, frame: object) -> None:  # noqa: ARG001
    now = time.monotonic()
    if _came and now - _came[-1] < SAME:
        return
    _came.append(now)
    _last.append(number)
    raise KeyboardInterrupt
