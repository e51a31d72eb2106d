"""A long capture while nobody reads it: its records as arrays, made anew when they are asked for.

An op takes 600 to 1,300 bytes as records, with its tensors and nodes, and some 100 as columns. The rules and the views
go through the records again and again, so while they do, the records are there; of all reports in the process those of
one, the last that was looked at.
"""

from __future__ import annotations

import threading
import weakref
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice, repeat
from operator import attrgetter
from typing import Any, overload

from msgspec import Struct
from msgspec.structs import replace

from autograd_inspector.model.capture import Capture
from autograd_inspector.views.columnar.kinds import Field, fields_of, tables_of_captures
from autograd_inspector.views.columnar.tables import Rows, Source, grouped
from autograd_inspector.views.gc_pause import collector_paused

Numbers = Callable[[Sequence[int]], Iterator[int]]
"""The integers of a column; equal ones may be one object."""

LONG = 20_000
"""Records of one kind; fewer are left as they are."""


class _Same:
    """One value again and again."""

    def __init__(self, value: Any, times: int) -> None:
        self._value, self._times = value, times

    def values(self, _: Numbers) -> Iterator[Any]:
        """The values of all records."""
        return repeat(self._value, self._times)


class _Few:
    """Few values, by their numbers."""

    def __init__(self, values: dict[Any, int], cells: Iterable[int]) -> None:
        self._values, self._cells = tuple(values), _array(cells)

    def values(self, _: Numbers) -> Iterator[Any]:
        """The values of all records."""
        return map(self._values.__getitem__, self._cells)


class _Integers:
    """Integers."""

    def __init__(self, numbers: Iterable[int]) -> None:
        self._numbers = _array(numbers)

    def values(self, numbers: Numbers) -> Iterator[int]:
        """The values of all records."""
        return numbers(self._numbers)


class _Pairs:
    """Pairs of integers."""

    def __init__(self, pairs: Sequence[tuple[int, int]]) -> None:
        self._first, self._second = _array([a for a, _ in pairs]), _array([b for _, b in pairs])

    def values(self, numbers: Numbers) -> Iterator[tuple[int, int]]:
        """The values of all records."""
        return zip(numbers(self._first), numbers(self._second), strict=True)


class _Groups:
    """Tuples of any lengths; equal ones are made once."""

    def __init__(self, groups: Sequence[Any], flat: _Column, *, alike: bool) -> None:
        self._sizes, self._flat, self._alike = _array(map(len, groups)), flat, alike

    def apart(self) -> tuple[list[int], Columns] | None:
        """Their sizes, and what is in them, where that is records."""
        return (list(self._sizes), self._flat) if isinstance(self._flat, Columns) else None

    def values(self, numbers: Numbers) -> Iterator[Any]:
        """The values of all records."""
        left = self._flat.values(numbers)
        groups = (tuple(islice(left, size)) for size in self._sizes)
        if not self._alike:
            return groups
        same: dict[Any, Any] = {}
        return (same.setdefault(group, group) for group in groups)


class Columns:
    """Records of one kind, one column a field."""

    def __init__(self, records: Sequence[Any], kind: type[Struct]) -> None:
        self._kind, self._length = kind, len(records)
        self._columns = {
            field.name: _column(field, list(map(attrgetter(field.name), records))) for field in fields_of(kind) or ()
        }

    def __len__(self) -> int:
        return self._length

    def column(self, name: str) -> list[Any]:
        """A field of all records."""
        return list(self._columns[name].values(iter))

    def part(self, name: str) -> Source:
        """The records in a field, each of which is one."""
        column = self._columns[name]
        return column if isinstance(column, Columns) else Rows(self.column(name))

    def parts(self, name: str) -> tuple[list[int], Source]:
        """How many records are in a field of each, and all of them."""
        column = self._columns[name]
        apart = column.apart() if isinstance(column, _Groups) else None
        return apart or grouped(self.column(name))

    def values(self, numbers: Numbers) -> Iterator[Any]:
        """All records."""
        return map(self._kind, *[column.values(numbers) for column in self._columns.values()])


_Column = _Same | _Few | _Integers | _Pairs | _Groups | Columns


def _column(field: Field, values: list[Any]) -> _Column:
    first = values[0] if values else None
    if values.count(first) == len(values) and field.holds != "record":
        return _Same(first, len(values))
    if field.holds == "number":
        return _Integers(values)
    if field.holds == "record":
        return Columns(values, field.inner)
    if field.holds == "value":
        places: dict[Any, int] = {}
        return _Few(places, [places.setdefault(value, len(places)) for value in values])
    flat = list(chain.from_iterable(values))
    if field.holds == "records":
        return _Groups(values, Columns(flat, field.inner), alike=False)
    return _Groups(values, _Pairs(flat) if field.holds == "pairs" else _Integers(flat), alike=True)


def _array(numbers: Iterable[int]) -> Sequence[int]:
    """In as few bytes as they take."""
    kept = list(numbers)
    for code in "biqQ":
        try:
            return array(code, kept)
        except (OverflowError, TypeError):
            continue
    return tuple(kept)


def _shared(count: int) -> Numbers:
    """Gives each integer below ``count``, and -1, as one object: an op's index is also in its tensors and its node."""
    one = [*range(count), -1]

    def numbers(column: Sequence[int]) -> Iterator[int]:
        if not column or (min(column) >= -1 and max(column) < count):
            return map(one.__getitem__, column)
        return (one[number] if -1 <= number < count else number for number in column)

    return numbers


class _Rest:
    """The columns of one capture, and its records while it is the one that is looked at."""

    def __init__(self, columns: dict[str, Columns], longest: int) -> None:
        self.columns = columns
        self.records: dict[str, tuple[Any, ...]] = {}
        self._most = 2 * longest
        """An op makes one node or two: their sequence numbers reach twice as far as the indices."""
        self._numbers: Numbers | None = None

    def rest(self) -> None:
        """Keep the columns alone."""
        self.records, self._numbers = {}, None

    def of(self, name: str) -> tuple[Any, ...]:
        """The records of a name."""
        records = self.records.get(name)
        if records is None:
            with _LOCK, collector_paused():
                _wake(self)
                self._numbers = self._numbers or _shared(self._most)
                records = self.records[name] = tuple(self.columns[name].values(self._numbers))
        return records


_LOCK = threading.Lock()
_AWAKE: list[weakref.ref[_Rest]] = []
"""Whose records are there: of one capture at most."""


def _wake(rest: _Rest) -> None:
    for other in [other for awake in _AWAKE if (other := awake()) is not None and other is not rest]:
        other.rest()
    _AWAKE[:] = [weakref.ref(rest)]


class Resting(Sequence[Any]):
    """A tuple of records that are made anew when somebody asks for one."""

    def __init__(self, rest: _Rest, name: str, length: int) -> None:
        self._rest, self._name, self._length = rest, name, length

    @property
    def records(self) -> tuple[Any, ...]:
        """All of them."""
        return self._rest.of(self._name)

    @property
    def columns(self) -> Columns:
        """Field by field; no record is made for that."""
        return self._rest.columns[self._name]

    @property
    def passing(self) -> tuple[Any, ...]:
        """All of them, for somebody who goes through them once: they are not kept."""
        with collector_paused():
            return self._rest.records.get(self._name) or tuple(self._rest.columns[self._name].values(iter))

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Any: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Any, ...]: ...

    def __getitem__(self, index: int | slice) -> Any:
        # Spelled out: a view asks a hundred thousand times.
        records = self._rest.records.get(self._name)
        return (self.records if records is None else records)[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.records)

    def __reversed__(self) -> Iterator[Any]:
        return iter(self.records[::-1])

    def __contains__(self, record: object) -> bool:
        return record in self.records

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Resting):
            return self.records == other.records
        return self.records == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.records)

    def __repr__(self) -> str:
        return f"<{self._length} records>"


def at_rest(capture: Capture) -> Capture:
    """The same capture, whose long tuples are columns as long as nobody reads them."""
    long = {name: kind for name, kind in tables_of_captures().items() if _is_long(getattr(capture, name))}
    if not long:
        return capture
    with collector_paused():
        longest = max(len(getattr(capture, name)) for name in long)
        rest = _Rest({name: Columns(getattr(capture, name), kind) for name, kind in long.items()}, longest)
    return replace(capture, **{name: Resting(rest, name, len(getattr(capture, name))) for name in long})


def _is_long(records: object) -> bool:
    return isinstance(records, tuple) and len(records) >= LONG
