"""A report as JSON text and back."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

T = TypeVar("T")
_SURROGATE = re.compile("[\ud800-\udfff]")


class ReportFormatError(ValueError):
    """The text is no report, or one of another version."""


class _Head(Struct):
    schema: int


def encode(report: Struct) -> str:
    """JSON text; lone surrogates in the program's names, which JSON cannot carry, become U+FFFD."""
    try:
        return msgspec.json.encode(report).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode(_repaired(msgspec.to_builtins(report))).decode()


def decode(text: str | bytes, kind: type[T], schema: int) -> T:
    """The report in ``text``; raises ReportFormatError in one line where there is none."""
    try:
        found = msgspec.json.decode(text, type=_Head).schema
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise ReportFormatError(f"not an autograd_inspector report: {error}") from None
    if found != schema:
        raise ReportFormatError(
            f"this report has schema version {found}; this autograd_inspector reads version {schema}"
        )
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise ReportFormatError(f"damaged autograd_inspector report: {error}") from None


def _repaired(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list | tuple):
        return [_repaired(item) for item in value]
    if isinstance(value, dict):
        return {_repaired(key): _repaired(item) for key, item in value.items()}
    return value
