"""The long tuples of a capture as tables beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from autograd_inspector.model.capture import Capture
from autograd_inspector.views.columnar.kinds import tables_of_captures
from autograd_inspector.views.columnar.numbers import DamagedColumnError
from autograd_inspector.views.columnar.resting import Resting
from autograd_inspector.views.columnar.tables import Rows, Source, Table, records_of, table_of

LONG = 1_000
"""From so many records on a tuple is written as a table. What is shorter can be read, by people and by `jq`."""


class Tables(Struct, frozen=True):
    """What of a report's JSON is read by itself."""

    tables: dict[str, Table] = {}


def set_apart(capture: Capture) -> tuple[Capture, dict[str, Table]]:
    """The capture without its long tuples, and these as tables."""
    long = {name: kind for name, kind in tables_of_captures().items() if len(getattr(capture, name)) >= LONG}
    tables = {name: table_of(_source(getattr(capture, name)), kind) for name, kind in long.items()}
    return (replace(capture, **dict.fromkeys(tables, ())), tables) if tables else (capture, tables)


def _source(records: Any) -> Source:
    return records.columns if isinstance(records, Resting) else Rows(records)


def put_back(capture: Capture, tables: Mapping[str, Table]) -> Capture:
    """The capture with the records of the tables. Raises DamagedColumnError, or msgspec's ValidationError."""
    records = {}
    for name, table in tables.items():
        kind = tables_of_captures().get(name)
        if kind is None or getattr(capture, name):
            raise DamagedColumnError(f"tables.{name}: there is no such table, or there are such records already")
        try:
            records[name] = records_of(table, kind)
        except (DamagedColumnError, msgspec.ValidationError) as error:
            raise DamagedColumnError(f"tables.{name}: {error}") from None
    return replace(capture, **records) if records else capture
