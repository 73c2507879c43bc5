"""Read a recorded host (``--host FILE``)."""

import os
import re

from envbuild.errors import InputError
from envbuild.io import files
from envbuild.values.codec import load, replace
from envbuild.values.host import Host


def load_host(path: str | os.PathLike[str]) -> Host:
    """The host in a file that ``envbuild detect --json`` wrote; ``-`` is standard input.

    Raises:
        InputError: not there, not JSON (with its line), or not a host (with the path of the key).
    """
    host = load(Host, files.read(path), str(path))
    for index, gpu in enumerate(host.gpus):
        if gpu.cc is not None and not re.fullmatch(r"\d{1,2}\.\d", gpu.cc):
            raise _wrong(path, gpu.cc, "compute capability, as 8.6", f"gpus[{index}].cc")
    for name, text in (
        ("version", host.driver and host.driver.version),
        ("cuda", host.driver and host.driver.cuda),
    ):
        if text and not re.fullmatch(r"\d+(\.\d+)*", text):
            raise _wrong(path, text, "version, as 580.95.05", f"driver.{name}")
    return replace(host, kind="recorded") if host.kind == "detected" else host


def _wrong(path: object, text: str, wanted: str, key: str) -> InputError:
    what = f"{path} is not a host: {text!r} is no {wanted} - at `$.{key}`"
    return InputError(what, fix="record the machine again with `envbuild detect --json`")
