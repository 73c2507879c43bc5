"""Quoting of foreign text, one filter for each language that a template writes."""

import json
import re
import shlex

from envbuild.errors import InputError

_REF = re.compile(r"[a-z0-9][a-zA-Z0-9._:/-]*(@sha256:[0-9a-f]{64})?")
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]*(:[a-z0-9]+)?")
_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._,\[\]=<>!~+* -]*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FOLDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*(/[A-Za-z0-9][A-Za-z0-9_.-]*)*")
_PATH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]*(/[A-Za-z0-9_][A-Za-z0-9._+-]*)*")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+~:_-]*")
_MINOR = re.compile(r"\d\.\d{1,2}")
_CAPABILITY = re.compile(r"\d{1,2}\.\d")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_FINGERPRINT = re.compile(r"[0-9A-F]{40}")
_PATTERN = re.compile(r"[a-z0-9*][a-z0-9.*-]*|/\^[][a-z0-9+-]+\$/")
_SUITE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*( [a-z0-9][a-z0-9._/-]*)+")
# Every word that a plan says a GPU comes in by; nothing else may reach a `run` line from a file.
_GPU_FLAGS = frozenset(
    [
        "--device",
        "nvidia.com/gpu=all",
        "--gpus",
        "all",
        "--runtime=nvidia",
        "-e",
        "NVIDIA_VISIBLE_DEVICES=all",
        "--security-opt=label=disable",
        "--nv",
    ]
)
_PROVIDES = re.compile(r"[a-z0-9][A-Za-z0-9+.-]*( \(= [A-Za-z0-9.+~:-]+\))?")
_URL = re.compile(r"https?://[A-Za-z0-9._~:/%-]+")


def _matches(pattern: re.Pattern[str], kind: str, text: str) -> str:
    if pattern.fullmatch(text) is None:
        what = f"{text!r} in the plan or its lock cannot be {kind}"
        raise InputError(what, fix="use what envbuild wrote")
    return text


def ref(text: str) -> str:
    """An image reference; InputError for anything else."""
    return _matches(_REF, "an image reference", text)


def package(text: str) -> str:
    """A Debian package name; InputError for anything else."""
    return _matches(_PACKAGE, "a package name", text)


def requirement(text: str) -> str:
    """A pinned Python requirement; InputError for options, addresses and markers."""
    return _matches(_REQUIREMENT, "a Python requirement", text)


def variable(text: str) -> str:
    """The name of an environment variable; InputError for anything else."""
    return _matches(_NAME, "the name of a variable", text)


def folder(text: str) -> str:
    """A relative folder without ``..``; InputError for anything else."""
    return _matches(_FOLDER, "a folder", text)


def version(text: str) -> str:
    """A version; InputError for anything else."""
    return _matches(_VERSION, "a version", text)


def minor(text: str) -> str:
    """Two numbers, as of a Python or a C library (``3.11``); InputError for anything else."""
    return _matches(_MINOR, "a version like 3.11", text)


def capability(text: str) -> str:
    """A compute capability (``12.0``); InputError for anything else."""
    return _matches(_CAPABILITY, "a compute capability", text)


def path(text: str) -> str:
    """A relative path of an archive, without ``..`` and blanks; InputError for anything else."""
    return _matches(_PATH, "the path of an archive", text)


def sha256(text: str) -> str:
    """A hash in hex; InputError for anything else."""
    return _matches(_SHA256, "a sha256", text)


def fingerprint(text: str) -> str:
    """The fingerprint of a key of version 4; InputError for anything else."""
    return _matches(_FINGERPRINT, "the fingerprint of a key", text)


def pattern(text: str) -> str:
    """A package name with ``*``, or ``/^...$/`` as apt takes it; InputError for anything else."""
    return _matches(_PATTERN, "a pattern of package names", text)


def gpu_flag(text: str) -> str:
    """One word of the flags that bring a GPU in; InputError for anything else."""
    if text not in _GPU_FLAGS:
        what = f"{text!r} in the plan brings no GPU into a container"
        raise InputError(what, fix="use what envbuild wrote")
    return text


def suite(text: str) -> str:
    """A ``suite component ...`` line of an archive; InputError for anything else."""
    return _matches(_SUITE, "a suite and its components", text)


def component(text: str) -> str:
    """An archive component; InputError for anything else."""
    return _matches(_PACKAGE, "an archive component", text)


def provides(text: str) -> str:
    """One entry of a Debian ``Provides`` field; InputError for anything else."""
    return _matches(_PROVIDES, "a Provides entry", text)


def url(text: str) -> str:
    """A plain address without credentials or query; InputError for anything else."""
    return _matches(_URL, "an address", text)


def line(text: str) -> str:
    """Text that stays on its line: every control character becomes a space."""
    return "".join(c if c.isprintable() else " " for c in text)


def dockerfile(text: str) -> str:
    """A double-quoted word of ENV and LABEL: nothing in it is expanded."""
    escaped = re.sub(r'(["\\$])', r"\\\1", line(text))
    return f'"{escaped}"'


def yaml(text: str) -> str:
    """A double-quoted YAML scalar for a compose file, whose ``$`` would be interpolated."""
    return json.dumps(line(text), ensure_ascii=False).replace("$", "$$")


def markdown(text: str) -> str:
    """Text for a paragraph, list or table of a Markdown page, without any mark-up of its own."""
    return re.sub(r"([\\`*_\[\]<>|#!])", r"\\\1", line(text))


def code(text: str) -> str:
    """Text for a code span or block of a Markdown page."""
    return line(text).replace("`", "'")


FILTERS = {
    "q": shlex.quote,
    "d": dockerfile,
    "y": yaml,
    "m": markdown,
    "c": code,
    "line": line,
}
