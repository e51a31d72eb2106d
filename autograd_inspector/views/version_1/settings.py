"""Settings of optimizers: version 1 kept them as text."""

from __future__ import annotations

import ast
import contextlib
from typing import Any

_PLAIN = (bool, int, float, str, type(None))


def of_settings(capture: Any) -> dict[str, Any]:
    """The placement with settings as values; what is no Python literal was a text, or reads like one."""
    placement = capture.get("placement", {})
    optimizers = [
        optimizer | {"groups": [{key: _value(text) for key, text in group.items()} for group in optimizer["groups"]]}
        if "groups" in optimizer
        else optimizer
        for optimizer in placement.get("optimizers", [])
    ]
    return {"placement": placement | {"optimizers": optimizers}} if optimizers else {}


def _value(text: Any) -> Any:
    with contextlib.suppress(ValueError, SyntaxError, MemoryError, RecursionError):
        value = ast.literal_eval(text)
        inner = value if isinstance(value, tuple) else (value,)
        if str(value) == text and all(isinstance(item, _PLAIN) for item in inner):
            return value
    return text
