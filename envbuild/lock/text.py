"""The lock as a text that people review: plain JSON, one package or wheel a line."""

import json

from envbuild.values.codec import dump_line
from envbuild.values.lock import Lock


def dump_lock(lock: Lock) -> bytes:
    """The lock as JSON, each entry of its lists on a line; `codec.load` reads it back."""
    fields = json.loads(dump_line(lock))
    return (
        "{\n" + ",\n".join(f"  {_text(k)}: {_block(v)}" for k, v in fields.items()) + "\n}\n"
    ).encode()


def _block(value: object) -> str:
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(f"    {_text(entry)}" for entry in value) + "\n  ]"
    if isinstance(value, dict) and value:
        rows = (f"    {_text(k)}: {_text(v)}" for k, v in value.items())
        return "{\n" + ",\n".join(rows) + "\n  }"
    return _text(value)


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
