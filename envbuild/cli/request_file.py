"""``envbuild.yaml``: the request flags of a project, one key a flag, read as text.

A key is the long name of a flag, a list stands where the flag repeats, and every value is text
(``torch: 2.10`` stays 2.10).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

from envbuild.cli.options import Many, RequestFlags
from envbuild.errors import InputError
from envbuild.io import yamlfile
from envbuild.values.codec import fields, replace

_NONE = fields(RequestFlags())


class RequestFile(NamedTuple):
    """What a file asks for, and the line of each field that it gives."""

    path: str
    flags: RequestFlags
    lines: dict[str, int]

    def over(self, typed: RequestFlags) -> "RequestFile":
        """What is left of the file beside the flags of the command line, which win."""
        gone = {name for name, value in fields(typed).items() if value != _NONE[name]}
        gone |= set(_same_in_other_words(typed, self.flags))
        lines = {name: line for name, line in self.lines.items() if name not in gone}
        flags = replace(self.flags, **{name: _NONE[name] for name in gone})
        if typed.torch is not None and flags.with_ is not None:
            flags = replace(flags, with_=[w for w in flags.with_ if not _is_torch(w)] or None)
        return RequestFile(self.path, flags, lines)

    def located(self, error: InputError) -> InputError:
        """An error with the file, and the line, of the value that it is about.

        Args:
            error: begins with the flag that is wrong (``--cuda 'banana' is not a range``); a flag
                that is not in this file was typed, and its error stays as it is.
        """
        flag = error.what.partition(" ")[0]
        line = self.lines.get(keys().get(flag.removeprefix("--"), ""))
        if flag.startswith("--") and line is None:
            return error
        at = f"{self.path}:{line}" if line else self.path
        return InputError(f"{at}: {error.what}", why=error.why, fix=error.fix)


def _same_in_other_words(typed: RequestFlags, file: RequestFlags) -> Iterator[str]:
    """Fields of the file that another flag, a typed one, speaks of."""
    if typed.cc is not None or typed.gpu is not None:
        yield from ("cc", "gpu")
    if "/" in (typed.platform or ""):
        yield "arch"
    if typed.arch is not None and "/" in (file.platform or ""):
        yield "platform"
    if typed.platform not in {None, "jetson"}:
        yield "l4t"
    if typed.l4t is not None and file.platform != "jetson":
        yield "platform"
    if any(map(_is_torch, typed.with_ or ())):
        yield "torch"


def _is_torch(wish: str) -> bool:
    return RequestFlags(with_=[wish]).request().packages[0].name == "torch"


def keys() -> dict[str, str]:
    """Each key of the file, with the field of `RequestFlags` that it fills."""
    return {name.rstrip("_").replace("_", "-"): name for name in get_type_hints(RequestFlags)}


def read(path: str) -> RequestFile:
    """The flags in a YAML file; a recorded host that it names is looked for beside it.

    Raises:
        InputError: not a YAML table, an unknown key, or a value of the wrong form; says the line.
    """
    file = yamlfile.load(path)
    names, hints = keys(), get_type_hints(RequestFlags)
    spelled = {**names, **{name.rstrip("_"): name for name in hints}}
    values: dict[str, Any] = {}
    lines: dict[str, int] = {}
    for key, node in file.table(file.root, spelled, "a table of flags").items():
        name = spelled[key]
        if name in values:
            file.wrong(node.line, f"has {key!r} twice", "keep one of them")
        values[name], lines[name] = _value(file, node, hints[name]), node.line
    flags = RequestFlags(**values)
    if flags.host is not None:
        flags = replace(flags, host=str(Path(path).parent / flags.host))
    return RequestFile(path, flags, lines)


def _value(file: yamlfile.YamlFile, node: yamlfile.Node, kind: object) -> str | bool | list[str]:
    if kind == Many:
        return file.texts(node)
    text = file.text(node)
    if kind is not bool:
        return text
    if text.lower() not in {"true", "false"}:
        file.wrong(node.line, f"needs true or false, not {text[:60]!r}", "write true or false")
    return text.lower() == "true"
