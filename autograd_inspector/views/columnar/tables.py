"""Records as a table, and back.

Numbers that count on from row to row are told beside the row, or beside the one before: then most rows of a program
that does the same again and again are alike, and each that is another is written once. ``which`` says of each record
which one it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, repeat
from operator import attrgetter
from typing import Any, NamedTuple, Protocol

import msgspec
from msgspec import NODEFAULT, Struct

from autograd_inspector.views.columnar.kinds import Field, fields_of
from autograd_inspector.views.columnar.numbers import (
    Base,
    DamagedColumnError,
    Runs,
    length_of,
    numbers_of,
    runs_of,
    shortest,
    told,
    untold,
)

_ALIKE = 0.8
"""Where more than that share of the rows is another each, all are written."""
MOST = 10_000_000
"""Records, and numbers in a column, that are read: a short text could ask for any number of equal ones."""


class Column(Struct, frozen=True, omit_defaults=True):
    """One field of the rows that are different.

    ``at``: a number each, or as many as ``sizes`` says; told beside ``base``. With ``of``, places in that; with
    ``rows``, which of the rows of that table each is. A pair is two numbers.
    """

    at: Runs = ()
    sizes: Runs | None = None
    base: Base = ""
    of: tuple[Any, ...] | None = None
    rows: Table | None = None


class Table(Struct, frozen=True, omit_defaults=True):
    """``count`` records; those fields are not there that have their default in all. Without ``which``: each row once.

    ``different``: how many rows the columns have.
    """

    count: int
    different: int
    which: Runs | None = None
    columns: dict[str, Column] = {}


class _Told(NamedTuple):
    """A column before equal rows are taken together: for each row a number, or a tuple of numbers."""

    column: Column
    cells: Sequence[Any]
    tuples: bool


class Source(Protocol):
    """Where the records of one kind are, field by field."""

    def __len__(self) -> int: ...

    def column(self, name: str) -> list[Any]:
        """A field of all records."""

    def part(self, name: str) -> Source:
        """The records in a field."""

    def parts(self, name: str) -> tuple[list[int], Source]:
        """How many records are in a field of each, and all of them."""


class Rows:
    """Records that are there."""

    def __init__(self, records: Sequence[Any]) -> None:
        self._records = records

    def __len__(self) -> int:
        return len(self._records)

    def column(self, name: str) -> list[Any]:
        """A field of all records."""
        return list(map(attrgetter(name), self._records))

    def part(self, name: str) -> Source:
        """The records in a field."""
        return Rows(self.column(name))

    def parts(self, name: str) -> tuple[list[int], Source]:
        """How many records are in a field of each, and all of them."""
        return grouped(self.column(name))


def grouped(groups: Sequence[Sequence[Any]]) -> tuple[list[int], Source]:
    """How many records each has, and all of them."""
    return list(map(len, groups)), Rows(list(chain.from_iterable(groups)))


def table_of(records: Source, kind: type[Struct]) -> Table:
    """The records of one kind, of which ``fields_of`` knows the fields."""
    table, which = _table_of(records, kind, range(len(records)))
    return table if len(which) == table.different else msgspec.structs.replace(table, which=runs_of(which))


def _table_of(records: Source, kind: type[Struct], rows: Sequence[int]) -> tuple[Table, Sequence[int]]:
    """The table without telling which record is which of its rows, and just that. ``rows``: what each is part of."""
    if not len(records):
        return Table(0, 0), ()
    columns: dict[str, _Told] = {}
    for field in fields_of(kind) or ():
        told_beside = _column(field, records, rows)
        if told_beside is not None:
            columns[field.name] = told_beside
    varying = [each.cells for each in columns.values() if each.cells.count(each.cells[0]) < len(each.cells)]
    seen: dict[Any, int] = {}
    which: Sequence[int] = [0] * len(records)
    if varying:
        which = [seen.setdefault(row, len(seen)) for row in zip(*varying, strict=True)]
    different = max(1, len(seen))
    if different > _ALIKE * len(records):
        which, different = range(len(records)), len(records)
    firsts = _firsts(which, different)
    return Table(len(records), different, None, {name: _written(each, firsts) for name, each in columns.items()}), which


def _column(field: Field, records: Source, rows: Sequence[int]) -> _Told | None:
    """A field of the records; None where it has its default in all."""
    if field.holds == "records" and field.default in {NODEFAULT, ()}:
        sizes, within = records.parts(field.name)
        return _records_told(field, sizes, within, rows) if field.default is NODEFAULT or len(within) else None
    if field.holds == "record" and field.default is NODEFAULT:
        return _record_told(field, records.part(field.name), rows)
    values = records.column(field.name)
    if field.default is not NODEFAULT and values.count(field.default) == len(values):
        return None
    if field.holds == "record":
        return _record_told(field, Rows(values), rows)
    if field.holds == "records":
        return _records_told(field, *grouped(values), rows)
    return _told(field, values, rows)


def _firsts(which: Sequence[int], different: int) -> Sequence[int]:
    """The record that each of the rows was first."""
    if different == len(which):
        return which
    firsts: list[int] = []
    for record, row in enumerate(which):
        if row == len(firsts):
            firsts.append(record)
    return firsts


def _written(each: _Told, firsts: Sequence[int]) -> Column:
    cells = [each.cells[first] for first in firsts]
    if not each.tuples:
        return msgspec.structs.replace(each.column, at=runs_of(cells))
    return msgspec.structs.replace(each.column, at=runs_of(chain.from_iterable(cells)), sizes=runs_of(map(len, cells)))


def _told(field: Field, values: Sequence[Any], rows: Sequence[int]) -> _Told:
    if field.holds == "value":
        places: dict[Any, int] = {}
        cells = [places.setdefault(value, len(places)) for value in values]
        return _Told(Column(of=tuple(places)), cells, tuples=False)
    if field.holds == "number":
        base = shortest(values, rows)
        return _Told(Column(base=base), told(values, base, rows), tuples=False)
    sizes = list(map(len, values))
    owners = _owners(rows, sizes)
    flat: Sequence[Any] = list(chain.from_iterable(values))
    if field.holds == "pairs":
        base = shortest(first := [pair[0] for pair in flat], owners)
        pairs = zip(told(first, base, owners), [pair[1] for pair in flat], strict=True)
        doubled = list(chain.from_iterable(pairs))
        return _Told(Column(base=base), _grouped(doubled, [2 * size for size in sizes]), tuples=True)
    base = shortest(flat, owners)
    return _Told(Column(base=base), _grouped(told(flat, base, owners), sizes), tuples=True)


def _record_told(field: Field, records: Source, rows: Sequence[int]) -> _Told:
    table, which = _table_of(records, field.inner, rows)
    return _Told(Column(rows=table), which, tuples=False)


def _records_told(field: Field, sizes: Sequence[int], records: Source, rows: Sequence[int]) -> _Told:
    table, which = _table_of(records, field.inner, _owners(rows, sizes))
    return _Told(Column(rows=table), _grouped(which, sizes), tuples=True)


def _owners(rows: Iterable[int], sizes: Iterable[int]) -> list[int]:
    """For each of the numbers in tuples of those sizes the row of the tuple."""
    return list(chain.from_iterable(map(repeat, rows, sizes)))


def _grouped(numbers: Iterable[Any], sizes: Iterable[int]) -> list[tuple[Any, ...]]:
    left = iter(numbers)
    return [(next(left),) if size == 1 else tuple(islice(left, size)) if size else () for size in sizes]


def records_of(table: Table, kind: type[Struct]) -> tuple[Any, ...]:
    """The records that the table was made of. Raises DamagedColumnError, or msgspec's ValidationError."""
    if not 0 <= table.count <= MOST:
        raise DamagedColumnError(f"{table.count} records")
    if table.which is None and table.count != table.different:
        raise DamagedColumnError(f"{table.count} records of {table.different} rows")
    if table.which is None:
        return _records(table, kind, range(table.count), range(table.count))
    return _records(table, kind, numbers_of(table.which, table.count), range(table.count))


def _records(table: Table, kind: type[Struct], which: Sequence[int], rows: Sequence[int]) -> tuple[Any, ...]:
    if not 0 <= table.different <= MOST or not _all_below(which, table.different):
        raise DamagedColumnError(f"a row is none of the {table.different} of its table")
    fields = fields_of(kind) or ()
    unknown = table.columns.keys() - {field.name for field in fields}
    if unknown:
        raise DamagedColumnError(f"{kind.__name__} has no {', '.join(sorted(unknown))}")
    if not which:
        return ()
    columns = [_values(field, table, which, rows) for field in fields]
    return tuple(map(kind, *columns))


def _values(field: Field, table: Table, which: Sequence[int], rows: Sequence[int]) -> Iterable[Any]:
    """A field of each record."""
    column = table.columns.get(field.name)
    if column is None:
        if field.default is NODEFAULT:
            raise DamagedColumnError(f"the column {field.name} is missing")
        return [field.default] * len(which)
    if (column.of is None) == (field.holds == "value") or (column.rows is None) == field.holds.startswith("record"):
        raise DamagedColumnError(f"the column {field.name} is not what it should be")
    if field.holds in {"number", "value", "record"}:
        cells = numbers_of(column.at, table.different)
        return _single(field, column, [cells[row] for row in which], rows)
    sizes = numbers_of(column.sizes or (), table.different)
    if min(sizes, default=0) < 0 or length_of(column.at) > MOST:
        raise DamagedColumnError(f"the column {field.name} has sizes that are none")
    tuples = _grouped(numbers_of(column.at, sum(sizes)), sizes)
    return _several(field, column, [tuples[row] for row in which], rows)


def _single(field: Field, column: Column, cells: Sequence[int], rows: Sequence[int]) -> Iterable[Any]:
    if field.holds == "number":
        return untold(cells, column.base, rows)
    if column.rows is not None:
        return _records(column.rows, field.inner, cells, rows)
    values = msgspec.convert(column.of, tuple[field.inner, ...])  # type: ignore[name-defined]
    if not _all_below(cells, len(values)):
        raise DamagedColumnError(f"the column {field.name} points to nothing")
    return [values[cell] for cell in cells]


def _several(
    field: Field, column: Column, cells: Sequence[tuple[int, ...]], rows: Sequence[int]
) -> Iterator[tuple[Any, ...]]:
    each = 2 if field.holds == "pairs" else 1
    sizes = [len(cell) // each for cell in cells]
    if sum(sizes) > MOST or (each > 1 and any(len(cell) % each for cell in cells)):
        raise DamagedColumnError(f"the column {field.name} has sizes that are none")
    owners = _owners(rows, sizes)
    flat = list(chain.from_iterable(cells))
    values: Iterable[Any]
    if column.rows is not None:
        values = _records(column.rows, field.inner, flat, owners)
    elif field.holds == "pairs":
        values = zip(untold(flat[::2], column.base, owners), flat[1::2], strict=True)
    else:
        values = untold(flat, column.base, owners)
    same: dict[Any, Any] = {}
    if field.holds == "records":
        return iter(_grouped(values, sizes))
    return (same.setdefault(group, group) for group in _grouped(values, sizes))  # Equal ones are kept once.


def _all_below(numbers: Sequence[int], end: int) -> bool:
    return not numbers or (min(numbers) >= 0 and max(numbers) < end)
