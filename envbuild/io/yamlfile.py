"""YAML that people write: tables, lists and text; whatever else YAML can do is refused.

Every value is text, so ``torch: 2.10`` stays 2.10. A file is read event by event: an anchor, a tag
or a deep nest is refused where it starts, and nothing is ever expanded.
"""

import difflib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, NoReturn, Union

from envbuild.errors import InputError
from envbuild.io import files

_DEPTH = 8
_LINES = "write `name: value` lines"


class Node(NamedTuple):
    """A text, a list or a table, and the line on which it (or its key) starts."""

    line: int
    value: Union[str, "list[Node]", "dict[str, Node]"]


class YamlFile(NamedTuple):
    """What a file holds; its methods take it apart and name file and line of what is wrong."""

    path: str
    root: Node

    def table(self, node: Node, names: Iterable[str], kind: str) -> "dict[str, Node]":
        """The entries of a table.

        Args:
            node: must be a table.
            names: the keys that it may have.
            kind: what to call it in an error: ``a table of flags``.

        Raises:
            InputError: it is none, or has another key; offers the nearest.
        """
        if not isinstance(node.value, dict):
            self.wrong(node.line, f"is not {kind}", _LINES)
        known = tuple(names)
        for key, entry in node.value.items():
            if key not in known:
                near = difflib.get_close_matches(key.lower()[:60], known, 1)
                fix = f"did you mean {near[0]}?" if near else f"one of {', '.join(sorted(known))}"
                self.wrong(entry.line, f"has the unknown key {key[:60]!r}", fix)
        return node.value

    def text(self, node: Node, wanted: str = "one value") -> str:
        """The text of a node.

        Raises:
            InputError: it is a list, a table or nothing.
        """
        if not isinstance(node.value, str) or not node.value:
            self.wrong(node.line, f"needs {wanted} here", "write it behind the colon")
        return node.value

    def texts(self, node: Node, wanted: str = "a value or a list of values") -> list[str]:
        """The texts of a list; a single text is a list of one.

        Raises:
            InputError: it is a table, an empty list, or holds anything but text.
        """
        if not isinstance(node.value, list):
            return [self.text(node, wanted)]
        if not node.value:
            self.wrong(node.line, "has an empty list", "name something, or leave the key out")
        return [self.text(entry, "one value an entry") for entry in node.value]

    def wrong(self, line: int, says: str, fix: str) -> NoReturn:
        """End with what is wrong in a line.

        Raises:
            InputError: always.
        """
        raise _wrong(self.path, line, says, fix)


def load(path: str, *, most: int = 64 * 1024, fix: str = _LINES) -> YamlFile:
    """Read a file that is no longer than ``most`` bytes.

    Args:
        path: of the file.
        most: bytes that are read at most.
        fix: what to write where it holds nothing, or no YAML.

    Raises:
        InputError: not there, too long, not UTF-8, not YAML, nothing in it, a key twice, or YAML
            beyond tables, lists and text; says the line.
    """
    import yaml

    text = _text(path, most)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return YamlFile(path, _Events(path, yaml.parse(text, Loader=loader)).document(fix))
    except yaml.reader.ReaderError as e:
        line = text.count("\n", 0, e.position) + 1
        raise _wrong(path, line, "holds a control character", "take it out") from e
    except yaml.YAMLError as e:
        mark = getattr(e, "problem_mark", None)
        says = f"is not YAML: {getattr(e, 'problem', None) or e}"
        raise _wrong(path, mark.line + 1 if mark else 1, says, fix) from e


def _text(path: str, most: int) -> str:
    data = files.read(path, most)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        line = data.count(b"\n", 0, e.start) + 1
        raise _wrong(path, line, "is not text in UTF-8", "save it as UTF-8") from e


def _wrong(path: str, line: int, says: str, fix: str) -> InputError:
    return InputError(f"{path}:{line} {says}", fix=fix)


class _Events:
    """One pass over the events of a file; ``at`` is the one that was read last."""

    def __init__(self, path: str, events: Iterator[Any]) -> None:
        self.path = path
        self.events = events
        self.at: Any = next(events)

    def document(self, fix: str) -> Node:
        """The only document of the file; ``fix`` is for one that holds nothing."""
        if self._next() == "StreamEnd":
            self._wrong("is empty", fix)
        self._next()
        root = self._node(0)
        if not root.value:
            self._wrong("is empty", fix)
        self._next()
        if self._next() != "StreamEnd":
            self._wrong("begins a second document", "keep one")
        return root

    def _next(self) -> str:
        """Go one event on, and give its name."""
        self.at = next(self.events)
        if getattr(self.at, "anchor", None):
            self._wrong("has an anchor or an alias (& or *)", "write the value itself")
        if getattr(self.at, "tag", None):
            self._wrong(f"has the tag {self.at.tag[:60]}", "leave it out: every value is text")
        return type(self.at).__name__.removesuffix("Event")

    def _node(self, depth: int) -> Node:
        """The node whose first event was just read."""
        line, kind = self.at.start_mark.line + 1, type(self.at).__name__
        if kind == "ScalarEvent":
            # `key:` and `key: ~` are nothing; in quotes they are text.
            nothing = not self.at.style and self.at.value in {"~", "null"}
            return Node(line, "" if nothing else str(self.at.value))
        if depth == _DEPTH:
            self._wrong("is nested too deeply", _LINES)
        if kind == "SequenceStartEvent":
            entries = []
            while self._next() != "SequenceEnd":
                entries.append(self._node(depth + 1))
            return Node(line, entries)
        table: dict[str, Node] = {}
        while (part := self._next()) != "MappingEnd":
            if part != "Scalar":
                self._wrong("has a key that is no name", _LINES)
            at, key = self.at.start_mark.line + 1, str(self.at.value)
            if key in table:
                self._wrong(f"has {key[:60]!r} twice", "keep one of them")
            self._next()
            table[key] = self._node(depth + 1)._replace(line=at)
        return Node(line, table)

    def _wrong(self, says: str, fix: str) -> NoReturn:
        raise _wrong(self.path, self.at.start_mark.line + 1, says, fix)
