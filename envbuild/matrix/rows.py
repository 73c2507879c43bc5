"""YAML rows into structs. Scalars are read as text: ``torch: 2.10`` does not become 2.1."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import yaml

from envbuild.errors import InputError
from envbuild.matrix import model
from envbuild.matrix.tables import TABLES
from envbuild.values.codec import Value

if TYPE_CHECKING:
    from yaml.nodes import MappingNode, Node

# libyaml's parser is ten times faster; it is not in every build of PyYAML.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_FIX = "every row has source: and status: (measured, sourced or derived); see matrices/schema/"


@dataclass(frozen=True)
class Placed:
    """A row and where it stands, for the error texts of later checks."""

    table: str
    key: tuple[str, ...]
    row: Value
    where: str


def read(path: Path) -> tuple[str | None, list[Placed]]:
    """All rows of one YAML file, and its ``date`` where it gives one.

    Raises:
        InputError: not YAML, an unknown table or key, a row without source or status, a value
            of the wrong kind; names the file and the line.
    """
    try:
        root = yaml.compose(path.read_text(encoding="utf-8"), Loader=_LOADER)
        return _tables(root, path)
    except yaml.MarkedYAMLError as e:
        line = e.problem_mark.line + 1 if e.problem_mark else 1
        what = f"{path}:{line}: not YAML: {e.problem}"
        raise InputError(what, fix=_FIX) from e
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as e:
        what = f"{path}: cannot be read: {e}"
        raise InputError(what, fix="give text in UTF-8, or leave the file out") from e
    except RecursionError as e:
        what = f"{path}: an alias that holds itself, or lists in lists without end"
        raise InputError(what, fix="a row is one level deep") from e


def _tables(root: "Node | None", path: Path) -> tuple[str | None, list[Placed]]:
    if root is None:
        return None, []
    date = None
    placed: list[Placed] = []
    for name, node in _pairs(root, path):
        if name.value == "date":
            date = str(_plain(node))
        elif name.value in TABLES:
            placed += _table(name.value, node, path)
        else:
            known = ("date", *TABLES)
            raise _error(path, name, f"unknown table {name.value!r}", _nearest(name.value, known))
    return date, placed


def _table(name: str, node: "Node", path: Path) -> Iterator[Placed]:
    if not isinstance(node, yaml.SequenceNode):
        raise _error(path, node, f"{name} must be a list of rows")
    kind = TABLES[name]
    for entry in node.value:
        row = _row(kind.row, entry, path)
        key = tuple(str(getattr(row, field)) for field in kind.key)
        yield Placed(name, key, row, _place(path, entry))


def _row(kind: type, node: "Node", path: Path) -> Value:
    """One row.

    Raises:
        InputError: names the line of the key that is wrong, else of the row.
    """
    fields = msgspec.structs.fields(kind)
    names = [f.name for f in fields]
    for key, _ in _pairs(node, path):
        if key.value not in names:
            what = f"unknown key {key.value!r}"
            raise _error(path, key, what, _nearest(key.value, names))
    try:
        row: Value = msgspec.convert(_plain(node), type=kind, strict=False)
    except msgspec.ValidationError as e:
        text, _, at = str(e).partition(" - at `$.")
        field = re.split(r"[.\[`]", at)[0]
        place = next((v for k, v in _pairs(node, path) if k.value == field), node)
        raise _error(path, place, f"{field}: {text}" if field else text) from e
    if isinstance(row, model.Row) and not row.source:
        raise _error(path, node, "source: is empty")
    return row


def _plain(node: "Node") -> Any:  # noqa: ANN401 - the shape of YAML
    """The node as text, lists and dictionaries; plain ``null``, ``~`` and nothing are None."""
    if isinstance(node, yaml.SequenceNode):
        return [_plain(child) for child in node.value]
    if isinstance(node, yaml.MappingNode):
        return {key.value: _plain(value) for key, value in node.value}
    plain = isinstance(node, yaml.ScalarNode) and not node.style
    return None if plain and node.value in {"", "~", "null"} else node.value


def _pairs(node: "Node", path: Path) -> "list[tuple[Node, Node]]":
    if not isinstance(node, yaml.MappingNode):
        raise _error(path, node, "expected `key: value` pairs")
    seen: set[str] = set()
    mapping: MappingNode = node
    for key, _ in mapping.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _error(path, key, "a key must be one word")
        if key.value in seen:
            raise _error(path, key, f"key {key.value!r} stands here twice")
        seen.add(key.value)
    return list(mapping.value)


def _place(path: Path, node: "Node") -> str:
    return f"{path}:{node.start_mark.line + 1}"


def _nearest(word: str, known: "list[str] | tuple[str, ...]") -> str:
    near = get_close_matches(word, known, n=1, cutoff=0.4)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"


def _error(path: Path, node: "Node", says: str, fix: str = _FIX) -> InputError:
    return InputError(f"{_place(path, node)}: {says}", fix=fix)
