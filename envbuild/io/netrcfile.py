"""Logins that this user keeps in netrc: for indexes, archives and mirrors, never for registries."""

import os
from pathlib import Path

from envbuild.errors import InputError

_NAMES = ("~/.netrc", "~/_netrc")


def path() -> Path | None:
    """The file: ``NETRC``, else ``~/.netrc`` or ``~/_netrc``; None where there is none."""
    given = os.environ.get("NETRC")
    try:
        names = [Path(name).expanduser() for name in ([given] if given else _NAMES)]
        return next((name for name in names if name.exists()), None)
    except (OSError, RuntimeError):
        return None  # no home, or one that may not be looked into


def login(host: str) -> tuple[str, str] | None:
    """Name and password for a host: its own entry's, else those of ``default``.

    Raises:
        InputError: the file speaks of this host, or of any (``default``), and cannot be read.
    """
    import netrc

    file = path()
    if file is None or not host:
        return None
    try:
        found = netrc.netrc(str(file)).authenticators(host)
    except (netrc.NetrcParseError, OSError, ValueError) as e:
        if not _speaks_of(file, host):
            return None
        # What the parser stumbled over may be a piece of a password.
        line = getattr(e, "lineno", None)
        where = f"line {line}" if line else getattr(e, "strerror", None) or "it is no text"
        what = f"{file} cannot be read, and the login for {host} may be in it: {where}"
        fix = 'mend it; a password with a blank or a " in it needs quotes and \\" (Python 3.11)'
        raise InputError(what, fix=fix) from None
    if not found or not any(found):
        return None
    return found[0] or found[1] or "", found[2] or ""


def _speaks_of(file: Path, host: str) -> bool:
    try:
        text = file.read_bytes().lower()
    except OSError:
        # It is there, and nobody can say what is in it.
        return True
    return host.lower().encode() in text or b"default" in text.split()
