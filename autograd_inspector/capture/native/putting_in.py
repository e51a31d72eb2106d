"""Puts the functions in C in the place of those in Python, and takes them out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from autograd_inspector.capture.native import compiled
from autograd_inspector.capture.native.known import REPLACED, known
from autograd_inspector.capture.observers.calls.ops import Recorder


def _ready() -> tuple[Any, str]:
    native, reason = compiled()
    if native is not None and getattr(native, "IN_USE", False):
        # What was put in is told of the functions in Python that it stands for, and must not be told of itself.
        return None, "in use by an earlier import of the package"
    if native is not None:
        try:
            native.configure(**known())
            native.IN_USE = True
        except (AttributeError, KeyError, TypeError) as failure:
            return None, f"not made for this torch: {failure}"
    return native, reason


_NATIVE, REASON = _ready()
"""``REASON``: why Python records; "" where C does."""
_METHODS = [] if _NATIVE is None else [(owner, name, _NATIVE.method(owner, name)) for owner, name, _ in REPLACED]


def _put(methods: Any) -> None:
    for owner, name, function in methods:
        setattr(owner, name, function)


def put_in() -> None:
    """C records in the captures that begin from now on, where it was compiled."""
    if _NATIVE is not None:
        _put(_METHODS)
        Recorder.handler = staticmethod(_NATIVE.handler)


@contextmanager
def pure_python() -> Iterator[None]:
    """Python records in the captures that begin meanwhile."""
    _put(REPLACED)
    Recorder.handler = None
    try:
        yield
    finally:
        put_in()
