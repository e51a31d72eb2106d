"""A report as JSON text and back."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, TypeVar, cast, get_type_hints

import msgspec
from msgspec import Struct, inspect
from msgspec.structs import replace

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.model.capture import Capture
from autograd_inspector.views.columnar.captures import Tables, put_back, set_apart
from autograd_inspector.views.columnar.resting import Resting
from autograd_inspector.views.columnar.tables import Table
from autograd_inspector.views.display_text import shown
from autograd_inspector.views.gc_pause import collector_paused

R = TypeVar("R", bound=ReportData)
T = TypeVar("T")
S = TypeVar("S", bound=Struct)


NO_OLDER: Mapping[int, Callable[[Any], Any]] = MappingProxyType({})


class ReportFormatError(ValueError):
    """The text is no report, or one of another version."""


class _Head(Struct):
    schema: int


def storable(record: S) -> S:
    r"""The record with lone surrogates, which JSON cannot carry, spelled out: ``\udc80``.

    A program has them in names of files that are no UTF-8, or gets them from a model's vocabulary. They are replaced
    before anything is concluded from a capture, so that what is read back is equal to what was seen.
    """
    record = _floats(record, _one_nan)
    try:
        for name in record.__struct_fields__:  # One after another: the text of a whole capture may be large.
            _ENCODER.encode(getattr(record, name))
    except UnicodeEncodeError:
        return msgspec.convert(_spelled(msgspec.to_builtins(record, enc_hook=_plain)), type(record))
    return record


def encode(report: Struct) -> str:
    """JSON text; infinities and NaN, for which JSON has no number, are the strings "inf", "-inf" and "nan".

    The long tuples of a capture are tables beside it.
    """
    try:
        return _encoded(report)
    except UnicodeEncodeError:
        return _encoded(storable(report))


def _encoded(report: Struct) -> str:
    tables: dict[str, Table] = {}
    capture = getattr(report, "capture", None)
    if isinstance(capture, Capture):
        with collector_paused():
            capture, tables = set_apart(capture)
        report = replace(report, capture=capture)
    text = _ENCODER.encode(_floats(report, _written))
    if tables:
        text = text[:-1] + b"," + _ENCODER.encode(Tables(tables))[1:]
    return text.decode()


def with_tables(report: R, data: bytes) -> R:
    """A report that was read, with the records that stand in tables beside its capture."""
    tables = msgspec.json.decode(data, type=Tables).tables
    with collector_paused():
        return replace(report, capture=put_back(report.capture, tables)) if tables else report


def decode(
    text: str | bytes,
    kind: type[T],
    schema: int,
    fault: Callable[[T], str],
    older: Mapping[int, Callable[[Any], Any]] = NO_OLDER,
    complete: Callable[[T, bytes], T] = lambda record, _: record,
) -> T:
    """The report in ``text``; raises ReportFormatError in one line where there is none.

    Every view can show what comes back: types are right, ``fault`` has found nothing wrong with the rest, and no
    number is beyond what a float can hold. ``older``: what makes one of this version out of one of an earlier version.
    ``complete``: what puts the rest into the record, which stands beside it in the text.
    """
    data, version = _versioned(text, schema, older)
    if version == schema:
        return _sound(data, lambda: complete(_read(data, kind), data), fault)

    def converted() -> T:
        return msgspec.convert(older[version](msgspec.json.decode(data)), kind, strict=False, str_keys=True)

    return _sound(data, converted, fault)


def decode_outline(text: bytes, kind: type[T], schema: int) -> T:
    """The same of a record that keeps what is in its fields as ``msgspec.Raw``, for :func:`decode_piece` to read."""
    data, _ = _versioned(text, schema, NO_OLDER)
    return _decoded(lambda: msgspec.json.decode(data, type=kind))


def decode_piece(data: bytes, kind: type[T], fault: Callable[[T], str] = lambda _record: "") -> T:
    """What stands within a report, such as one row of a table; raises ReportFormatError as :func:`decode` does."""
    return _sound(data, lambda: _read(data, kind), fault)


def _read(data: bytes, kind: type[T]) -> T:
    return msgspec.json.decode(data, type=kind, strict=False)  # Not strict: "inf" is a number.


def _versioned(text: str | bytes, schema: int, older: Mapping[int, Any]) -> tuple[bytes, int]:
    try:
        data = text.encode() if isinstance(text, str) else text
        version = msgspec.json.decode(data, type=_Head).schema
    except _UNREADABLE as error:
        raise ReportFormatError(f"not an autograd_inspector report: {_reason(error)}") from None
    if version != schema and version not in older:
        first = min((*older, schema))
        reads = f"versions {first} to {schema}" if first < schema else f"version {schema}"
        raise ReportFormatError(
            f"this report has schema version {_reason(version)}; this autograd_inspector reads {reads}"
        )
    return data, version


def _decoded(read: Callable[[], T]) -> T:
    try:
        return read()
    except _UNREADABLE as error:
        raise ReportFormatError(f"damaged autograd_inspector report: {_reason(error)}") from None


def _sound(data: bytes, read: Callable[[], T], fault: Callable[[T], str]) -> T:
    record = _decoded(read)
    fault_text = _too_large(record) if _HUGE.search(data) else ""
    fault_text = fault_text or fault(record)
    if fault_text:
        raise ReportFormatError(f"damaged autograd_inspector report: {_reason(fault_text)}")
    return cast("T", _floats(record, _one_nan))


_UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)
_DIGITS = 40
"""More than any size in bytes has, and few enough for sums of such numbers to be floats."""
_HUGE = re.compile(rb"""[:,"\[\s]-?\d{%d}""" % _DIGITS)
"""What may be such a number: a text that looks like one is possible, too."""


def _reason(error: object) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return shown(str(error), 400)


def _too_large(record: Any) -> str:
    """The path to a number of too many digits, "" where there is none."""
    todo: list[tuple[str, Any]] = [("", msgspec.to_builtins(record))]
    while todo:
        where, value = todo.pop()
        if isinstance(value, dict):
            todo += [(f"{where}.{key}".lstrip("."), inner) for key, inner in value.items()]
            todo += [(where, key) for key in value if isinstance(key, int)]
        elif isinstance(value, list | tuple | set | frozenset):
            todo += [(f"{where}[{number}]", inner) for number, inner in enumerate(value)]
        elif isinstance(value, int) and abs(value) >= 10**_DIGITS:
            return f"{where}: a number of more than {_DIGITS} digits"
    return ""


def _plain(value: Any) -> Any:
    """What a program made a subclass of (``numpy.str_`` as a module's name), as what it is; records that rest."""
    if isinstance(value, Resting):
        return value.passing
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    raise TypeError(f"a record cannot hold a {type(value).__name__}")


_ENCODER = msgspec.json.Encoder(enc_hook=_plain)


def _written(number: float) -> Any:
    return number if math.isfinite(number) else msgspec.Raw(f'"{number}"'.encode())


def _one_nan(number: float) -> float:
    """There is one NaN object in all reports: as it is itself, reports that are alike are equal."""
    return math.nan if math.isnan(number) else number


def _floats(value: Any, change: Callable[[float], Any]) -> Any:
    """The same with other floats in it; only what can hold a float is looked through."""
    if isinstance(value, float):
        return change(value)
    if isinstance(value, tuple):
        changed_items = [_floats(item, change) for item in value] if value and _may_hold(type(value[0])) else value
        return tuple(changed_items) if any(map(_differ, changed_items, value)) else value
    if isinstance(value, dict):
        changed_values = {key: _floats(item, change) for key, item in value.items()}
        return changed_values if any(map(_differ, changed_values.values(), value.values())) else value
    if isinstance(value, Struct):
        fields = {name: getattr(value, name) for name in _fractional(type(value))}
        changed = {name: new for name, old in fields.items() if (new := _floats(old, change)) is not old}
        return replace(value, **changed) if changed else value
    return value


def _differ(new: Any, old: Any) -> bool:
    return new is not old


def _may_hold(kind: type) -> bool:
    return not issubclass(kind, Struct) or bool(_fractional(kind))


@cache
def _fractional(kind: type[Struct]) -> tuple[str, ...]:
    """The fields of a record in which there may be a float, at any depth."""
    hints = get_type_hints(kind)
    return tuple(name for name in kind.__struct_fields__ if _has_float(inspect.type_info(hints[name])))


def _has_float(described: inspect.Type) -> bool:
    match described:
        case inspect.FloatType():
            return True
        case inspect.StructType(cls=kind):
            return bool(_fractional(kind))
        case inspect.VarTupleType(item_type=item) | inspect.DictType(value_type=item):
            return _has_float(item)
        case inspect.UnionType(types=kinds) | inspect.TupleType(item_types=kinds):
            return any(map(_has_float, kinds))
    return False


def _spelled(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list | tuple):
        return [_spelled(item) for item in value]
    if isinstance(value, dict):
        return {_spelled(key): _spelled(item) for key, item in value.items()}
    return value
