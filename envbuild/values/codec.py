"""One way to write a value as JSON and to read it back."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from envbuild.errors import InputError

T = TypeVar("T")

if TYPE_CHECKING:
    # Type checkers do not see that msgspec's frozen and our kw_only are inherited.
    from typing_extensions import dataclass_transform

    @dataclass_transform(frozen_default=True, kw_only_default=True)
    class Value:
        """Base of every stored value: immutable, keyword-only, unknown keys are errors."""
else:

    class _KwOnly(type(msgspec.Struct)):
        """Passes ``kw_only`` on to subclasses, which msgspec does not inherit."""

        def __new__(mcls, name, bases, namespace, **options):  # noqa: ANN001, ANN003, ANN204
            return super().__new__(mcls, name, bases, namespace, **{"kw_only": True} | options)

    class Value(msgspec.Struct, metaclass=_KwOnly, frozen=True, forbid_unknown_fields=True):
        """Base of every stored value: immutable, keyword-only, unknown keys are errors."""


def replace(value: T, /, **changes: object) -> T:
    """A copy of the value with some fields changed."""
    return msgspec.structs.replace(value, **changes)  # type: ignore[type-var]


def fields(value: Value) -> dict[str, Any]:
    """The fields of a value, in their order."""
    return {name: getattr(value, name) for name in value.__struct_fields__}  # type: ignore[attr-defined]


class Pairs:
    """An immutable, ordered ``name -> text`` table; a JSON object on disk."""

    __slots__ = ("items",)

    def __init__(self, items: Mapping[str, str] | tuple[tuple[str, str], ...] = ()) -> None:
        self.items: tuple[tuple[str, str], ...] = (
            tuple(items.items()) if isinstance(items, Mapping) else tuple(items)
        )

    def get(self, name: str, default: str | None = None) -> str | None:
        """The text under ``name``, or ``default``."""
        return dict(self.items).get(name, default)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pairs) and self.items == other.items

    def __hash__(self) -> int:
        return hash(self.items)

    def __repr__(self) -> str:
        return f"Pairs({dict(self.items)!r})"


def _encode(obj: object) -> object:
    if isinstance(obj, Pairs):
        return dict(obj.items)
    raise NotImplementedError(type(obj))


def _decode(kind: type, obj: object) -> object:
    if kind is not Pairs:
        raise NotImplementedError(kind)
    if not isinstance(obj, dict):
        msg = "Expected `object`"
        raise msgspec.ValidationError(msg)
    for name, text in obj.items():
        if not isinstance(text, str):
            msg = f"Expected `str` under {name!r}"
            raise msgspec.ValidationError(msg)
    return Pairs(obj)


def schema_hook(kind: type) -> dict[str, Any]:
    """JSON Schema of the types that msgspec does not know."""
    if kind is Pairs:
        return {"type": "object", "additionalProperties": {"type": "string"}}
    raise NotImplementedError(kind)


_ENCODER = msgspec.json.Encoder(enc_hook=_encode)


def dump_line(value: object) -> bytes:
    """The value as one line of JSON; equal values give equal bytes."""
    return _ENCODER.encode(value)


def dump(value: object) -> bytes:
    """The value as indented JSON with a final newline; equal values give equal bytes."""
    return msgspec.json.format(_ENCODER.encode(value), indent=2) + b"\n"


def digest(value: object) -> str:
    """``sha256:...`` of the one-line form."""
    # Few commands need it, and it loads a crypto library.
    import hashlib

    return "sha256:" + hashlib.sha256(dump_line(value)).hexdigest()


def digest_of(data: bytes) -> str:
    """`digest` of the value that wrote this JSON, by its text alone.

    A release that knows more fields reads the same value into another one; what was written stays.

    Raises:
        msgspec.DecodeError: it is not JSON.
    """
    import hashlib

    return "sha256:" + hashlib.sha256(msgspec.json.format(data, indent=-1)).hexdigest()


def load(kind: type[T], data: bytes, name: str) -> T:
    """Read a value of type ``kind`` from JSON text.

    Args:
        kind: the struct to read.
        data: the bytes of the file.
        name: what the user calls the file, for the error text.

    Raises:
        InputError: not JSON, or not this value; says the line, or the path of the wrong key.
    """
    try:
        return msgspec.json.decode(data, type=kind, dec_hook=_decode)
    except msgspec.ValidationError as e:
        what = f"{name} is not a {kind.__name__.lower()}: {e}"
        raise InputError(
            what, fix=f"envbuild writes these files; compare with {_maker(kind)}"
        ) from e
    except RecursionError as e:
        what = f"{name} is nested too deeply"
        raise InputError(what, fix=f"compare with {_maker(kind)}") from e
    except (msgspec.DecodeError, UnicodeDecodeError) as e:
        import json

        try:
            json.loads(data)
            where = str(e)
        except json.JSONDecodeError as at:
            where = f"line {at.lineno}, column {at.colno}: {at.msg}"
        except UnicodeDecodeError:
            where = "the file is not text in UTF-8"
        what = f"{name} is not JSON: {where}"
        raise InputError(what, fix="give a file that envbuild wrote with --json or -o") from e


def _maker(kind: type) -> str:
    return {
        "Host": "`envbuild detect --json`",
        "Plan": "`envbuild plan --json`",
        "Lock": "`envbuild lock`",
        "Certificate": "`envbuild certify --json`",
    }.get(kind.__name__, "the published schema")
