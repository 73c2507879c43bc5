"""One certificate a node: which nodes of a list have none, and which share a GPU; pure.

A certificate names its node, and whoever signs it signs that name. What a file is called is not
looked at: anybody can exchange two files.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from envbuild.errors import InputError

_ENDS = (".intoto.jsonl", ".jsonl", ".json")
_LONGEST = 253
_SHOWN = 20  # nodes without a certificate that are named


class Proved(NamedTuple):
    """A certificate that counts: the node and the GPU it names; empty = it names none."""

    node: str
    uuid: str


def named(text: str) -> str | None:
    """A node as it is named, None = it is kept out.

    Raises:
        InputError: it is no name.
    """
    if len(text) > _LONGEST or not text.isprintable() or any(map(str.isspace, text)):
        what = f"{text[:80]!r} is no name of a machine"
        raise InputError(what, fix=f"--node NAME: no blanks, at most {_LONGEST} characters")
    return text or None


def _stem(file: str) -> str:
    name = Path(file).name
    return next((name.removesuffix(end) for end in _ENDS if name.endswith(end)), name)


def names(text: str, name: str) -> tuple[str, ...]:
    """The nodes of a list, one a line.

    Raises:
        InputError: it names none, or one twice.
    """
    found = [line.strip() for line in text.splitlines() if line.strip()]
    if not found or len(set(found)) < len(found):
        what = f"{name} names no node" if not found else f"{name} names a node twice"
        raise InputError(what, fix="write each node once, one a line")
    return tuple(found)


def uncovered(proved: Sequence[Proved], nodes: Sequence[str]) -> Iterator[str]:
    """What speaks against "each of these nodes was certified", a reason each.

    Args:
        proved: every certificate that counts.
        nodes: their names.
    """
    seen: dict[str, list[str]] = {}
    for one in proved:
        seen.setdefault(one.node, []).append(one.uuid)
    lacking = [node for node in nodes if node not in seen]
    if lacking:
        more = f" and {len(lacking) - _SHOWN} more" if len(lacking) > _SHOWN else ""
        nameless = len(seen.get("", ()))
        but = f"; {nameless} that count name no node" if nameless else ""
        yield f"no certificate that counts is from node {', '.join(lacking[:_SHOWN])}{more}{but}"
    owners: dict[str, str] = {}
    for node in nodes:
        for uuid in seen.get(node, ()):
            if uuid and owners.setdefault(uuid, node) != node:
                yield f"{owners[uuid]} and {node} show one GPU, {uuid}: one of them is not its own"


def evidence(path: str) -> tuple[Path, ...]:
    """A file of evidence, or all that a folder has; ``-`` is standard input.

    Raises:
        InputError: it is not there, or a folder without any.
    """
    found = Path(path)
    if found.is_dir():
        return files_in(found)
    if path != "-" and not found.exists():
        what = f"there is no file {path}"
        raise InputError(what, fix="envbuild verify IMAGE [FILE or FOLDER ...]")
    return (found,)


def files_in(folder: Path) -> tuple[Path, ...]:
    """The evidence in a folder: what is signed, and certificates that have nothing signed beside.

    Raises:
        InputError: there is none.
    """
    signed = sorted(folder.glob("*.jsonl"))
    beside = {_stem(path.name) for path in signed}
    found = sorted([*signed, *(p for p in folder.glob("*.json") if _stem(p.name) not in beside)])
    if not found:
        what = f"{folder} holds no certificate"
        raise InputError(what, fix="give the folder of NODE.json or NODE.intoto.jsonl files")
    return tuple(found)
