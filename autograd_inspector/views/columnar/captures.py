"""The long tuples of a capture as tables beside it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from autograd_inspector.model.capture import Capture
from autograd_inspector.views.columnar.kinds import fields_of
from autograd_inspector.views.columnar.numbers import DamagedColumnError
from autograd_inspector.views.columnar.tables import Table, records_of, table_of

LONG = 1_000
"""From so many records on a tuple is written as a table. What is shorter can be read, by people and by `jq`."""


class Tables(Struct, frozen=True):
    """What of a report's JSON is read by itself."""

    tables: dict[str, Table] = {}


def set_apart(capture: Capture) -> tuple[Capture, dict[str, Table]]:
    """The capture without its long tuples, and these as tables."""
    long = {name: kind for name, kind in _kinds().items() if len(getattr(capture, name)) >= LONG}
    tables = {name: table_of(getattr(capture, name), kind) for name, kind in long.items()}
    return (replace(capture, **dict.fromkeys(tables, ())), tables) if tables else (capture, tables)


def put_back(capture: Capture, tables: Mapping[str, Table]) -> Capture:
    """The capture with the records of the tables. Raises DamagedColumnError, or msgspec's ValidationError."""
    records = {}
    for name, table in tables.items():
        kind = _kinds().get(name)
        if kind is None or getattr(capture, name):
            raise DamagedColumnError(f"tables.{name}: there is no such table, or there are such records already")
        try:
            records[name] = records_of(table, kind)
        except (DamagedColumnError, msgspec.ValidationError) as error:
            raise DamagedColumnError(f"tables.{name}: {error}") from None
    return replace(capture, **records) if records else capture


@cache
def _kinds() -> Mapping[str, type[Struct]]:
    """The fields of a capture that may be tables, and the kind of record in each."""
    kinds: dict[str, Any] = {}
    for name, hint in get_type_hints(Capture).items():
        match get_origin(hint), get_args(hint):
            case origin, (kind, end) if origin is tuple and end is ...:
                if isinstance(kind, type) and issubclass(kind, Struct) and fields_of(kind) is not None:
                    kinds[name] = kind
    return MappingProxyType(kinds)
