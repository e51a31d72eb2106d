"""Puts the functions in C in the place of those in Python, and takes them out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from autograd_inspector.capture.native.known import REPLACED, known
from autograd_inspector.capture.observers.calls.ops import Recorder

SWITCH = "AUTOGRAD_INSPECTOR_PURE_PYTHON"


def _compiled() -> tuple[Any, str]:
    """The module in C, made ready; None, and why it is not used."""
    if os.environ.get(SWITCH, "0") not in {"", "0"}:
        return None, f"switched off by {SWITCH}"
    try:
        from autograd_inspector.capture.native import _native

        _native.configure(**known())
    except ImportError:
        return None, "not compiled"
    except (AttributeError, KeyError, TypeError) as failure:
        return None, f"not for this torch: {failure}"
    return _native, ""


_NATIVE, REASON = _compiled()
"""``REASON``: why Python records; "" where C does."""
_METHODS = [] if _NATIVE is None else [(owner, name, _NATIVE.method(owner, name)) for owner, name, _ in REPLACED]


def _put(methods: Any) -> None:
    for owner, name, function in methods:
        setattr(owner, name, function)


def put_in() -> None:
    """C records from now on, where it was compiled."""
    if _NATIVE is not None:
        _put(_METHODS)
        Recorder.handler = staticmethod(_NATIVE.handler)


@contextmanager
def pure_python() -> Iterator[None]:
    """Captures that begin meanwhile record in Python."""
    _put(REPLACED)
    Recorder.handler = None
    try:
        yield
    finally:
        put_in()
