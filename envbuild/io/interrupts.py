"""Ctrl-C and its like: one wish to end, however many signals say so, and the time to clean up."""

import signal
import threading
import time

#: Seconds in which more signals say the same: a terminal and a wrapper both pass a Ctrl-C on, a
#: scheduler sends TERM and HUP. Each would cut off the cleaning up that the one before began.
SAME = 5.0
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
_came: list[float] = []
_last: list[int] = []


def watch() -> None:
    """From now on a scheduler's or a closed terminal's end is as clean as Ctrl-C."""
    forget()
    if threading.current_thread() is not threading.main_thread():
        return
    for name in _NAMES:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _interrupt)


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
