"""What the fields of a record hold, as far as columns can hold it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Struct, inspect

from autograd_inspector.model.capture import Capture

Holds = Literal["number", "numbers", "value", "record", "records", "pairs"]


class Field(NamedTuple):
    """A field; ``inner``: the records in it, or the type of its values."""

    name: str
    holds: Holds
    inner: Any
    default: Any


class Unheld(TypeError):  # noqa: N818 - no error: it is left as it is
    """Columns cannot hold that."""


@cache
def fields_of(kind: type[Struct]) -> tuple[Field, ...] | None:
    """The fields of a kind of record in their order; None where one of them does not fit into columns."""
    described = inspect.type_info(kind)
    if not isinstance(described, inspect.StructType) or described.array_like or described.tag is not None:
        return None
    if kind.__match_args__ != kind.__struct_fields__:
        return None  # Of columns, records are made by place.
    hints = get_type_hints(kind)
    try:
        return tuple(_field(field, hints[field.name]) for field in described.fields)
    except Unheld:
        return None


def _field(field: inspect.Field, hint: Any) -> Field:
    default = field.default if field.default_factory is NODEFAULT else field.default_factory()
    match field.type:
        case inspect.IntType():
            return Field(field.name, "number", int, default)
        case inspect.StructType(cls=kind):
            return Field(field.name, "record", _held(kind), default)
        case inspect.VarTupleType(item_type=inspect.IntType()):
            return Field(field.name, "numbers", int, default)
        case inspect.VarTupleType(item_type=inspect.TupleType(item_types=(inspect.IntType(), inspect.IntType()))):
            return Field(field.name, "pairs", int, default)
        case inspect.VarTupleType(item_type=inspect.StructType(cls=kind)):
            return Field(field.name, "records", _held(kind), default)
        case each if _is_value(each):
            return Field(field.name, "value", hint, default)
    raise Unheld


def _held(kind: type[Struct]) -> type[Struct]:
    if fields_of(kind) is None:
        raise Unheld
    return kind


_PLAIN = (inspect.StrType, inspect.NoneType, inspect.LiteralType)


def _is_value(described: inspect.Type) -> bool:
    """Whether equal ones of that type are the same: 1, 1.0 and True are equal, too."""
    match described:
        case inspect.BoolType():
            return True
        case inspect.VarTupleType(item_type=item):
            return isinstance(item, _PLAIN)
        case inspect.UnionType(types=kinds):
            return all(isinstance(kind, (*_PLAIN, inspect.IntType)) for kind in kinds)
    return isinstance(described, _PLAIN)


@cache
def tables_of_captures() -> Mapping[str, type[Struct]]:
    """The fields of a capture that may be tables, and the kind of record in each."""
    kinds: dict[str, Any] = {}
    for name, hint in get_type_hints(Capture).items():
        match get_origin(hint), get_args(hint):
            case origin, (kind, end) if origin is tuple and end is ...:
                if isinstance(kind, type) and issubclass(kind, Struct) and fields_of(kind) is not None:
                    kinds[name] = kind
    return MappingProxyType(kinds)
