"""``plan --fleet hosts.yaml``: the machines of a fleet, one table each, every value text.

::

    - name: rack1
      count: 40
      gpus: [Tesla P100]
      driver: 535.309.01
    - name: ws7
      host: ws7.json        # what `envbuild detect --json` wrote there
"""

import re
from pathlib import Path
from typing import Any

from envbuild.cli.options import RequestFlags
from envbuild.errors import InputError
from envbuild.host.load import load_host
from envbuild.io.yamlfile import Node as Yaml
from envbuild.io.yamlfile import YamlFile, load
from envbuild.matrix.model import Matrices
from envbuild.planner import words
from envbuild.planner.alike import Node
from envbuild.planner.resolve import resolve
from envbuild.planner.table import table_of
from envbuild.planner.target import Target
from envbuild.values.codec import replace

_ONE = ("driver", "os", "arch", "platform", "l4t")
_MANY = ("gpus", "cc")
_FLAG = {"gpus": "gpu", "cc": "cc"}
_KEY = {"--gpu": "gpus", "--base-os": "os"}
_KEYS = ("name", "count", "host", *_MANY, *_ONE)
_BYTES = 64 * 1024 * 1024
_NODES = "write `- name: ...` entries, each with gpus, cc or host"

Facts = tuple[tuple[str, tuple[str, ...]], ...]
"""What a node says of its machine: key and texts; equal facts, one look-up."""


def read(path: str, flags: RequestFlags, matrices: Matrices) -> tuple[Node, ...]:
    """The machines in a file, with the wishes of the flags.

    Args:
        path: a list in YAML or JSON; a recorded host that it names is looked for beside it.
        flags: ``--driver``, ``--arch`` and ``--platform`` count for nodes that say none.
        matrices: the rows that names are checked against.

    Raises:
        InputError: no list of nodes, an unknown key, a name twice, or a value that is wrong; says
            the line.
    """
    file = load(path, most=_BYTES, fix=_NODES)
    if not isinstance(file.root.value, list):
        file.wrong(file.root.line, "is not a list of nodes", _NODES)
    targets: dict[Facts, Target] = {}
    found: dict[str, Node] = {}
    for entry in file.root.value:
        keys = file.table(entry, _KEYS, "a node")
        name = _name(file, entry, keys)
        if name in found:
            file.wrong(keys["name"].line, f"names {name[:60]!r} twice", "give each node its own")
        facts = _facts(file, entry, keys)
        if facts not in targets:
            targets[facts] = _target(file, entry, facts, flags, matrices)
        found[name] = Node(name, targets[facts], _count(file, keys.get("count")))
    return tuple(found.values())


def _name(file: YamlFile, entry: Yaml, keys: dict[str, Yaml]) -> str:
    if "name" not in keys:
        file.wrong(entry.line, "is a node without a name", "add `name: ...`")
    name = file.text(keys["name"])
    if not name.isprintable() or not name.strip():
        file.wrong(keys["name"].line, "has a name that cannot be shown", "write a plain name")
    return name


def _count(file: YamlFile, node: Yaml | None) -> int:
    if node is None:
        return 1
    text = file.text(node)
    if not re.fullmatch(r"[1-9][0-9]{0,6}", text, re.ASCII):
        file.wrong(node.line, f"needs a number of machines, not {text[:60]!r}", "write `count: 40`")
    return int(text)


def _facts(file: YamlFile, entry: Yaml, keys: dict[str, Yaml]) -> Facts:
    if "host" in keys:
        for key in (*_MANY, *_ONE):
            if key in keys:
                fix = "the recorded host says it: keep one of them"
                file.wrong(keys[key].line, f"has {key!r} beside 'host'", fix)
    elif not any(key in keys for key in _MANY):
        file.wrong(entry.line, "says no GPU", "add gpus, cc or host")
    return (
        *((key, tuple(file.texts(keys[key]))) for key in _MANY if key in keys),
        *((key, (file.text(keys[key]),)) for key in ("host", *_ONE) if key in keys),
    )


def _target(
    file: YamlFile, entry: Yaml, facts: Facts, flags: RequestFlags, matrices: Matrices
) -> Target:
    """The machine that such facts describe.

    Raises:
        InputError: one of them is not known, or the recorded host has no GPU.
    """
    values: dict[str, Any] = {key: texts[0] for key, texts in facts if key in _ONE}
    values |= {_FLAG[key]: list(texts) for key, texts in facts if key in _MANY}
    recorded = next((texts[0] for key, texts in facts if key == "host"), None)
    try:
        if "os" in values:
            # It counts where the plan is for the machine itself.
            os = words.system(values.pop("os"), table_of(matrices))
            values |= {"base_os": os} if flags.where == "host" else {}
        host = load_host(Path(file.path).parent / recorded) if recorded is not None else None
        target = resolve(replace(flags, **values).request(), host, matrices)
    except InputError as e:
        flag, _, rest = e.what.partition(" ")
        key = _KEY.get(flag, flag.removeprefix("--"))
        at = entry.value.get(key, entry) if isinstance(entry.value, dict) else entry
        what = f"{file.path}:{at.line}: {key} {rest}"
        raise InputError(what, why=e.why, fix=e.fix) from e
    if not target.cards:
        says = f"names {recorded}, a host with no GPU whose compute capability is known"
        if recorded is None:
            says = "has `cc: all`, and no machine has every card"
        file.wrong(entry.line, says, "say what it has: gpus or cc")
    return target
