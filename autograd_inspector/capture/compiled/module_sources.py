"""What Dynamo's expressions for modules and inputs mean: ``L['self'].layers.0``. None of the program's code runs."""

from __future__ import annotations

import re
from types import FrameType
from typing import Any, NamedTuple

from torch import nn

from autograd_inspector.capture.lines.frame_locals import locals_of
from autograd_inspector.capture.torch_private.modules import TABLES
from autograd_inspector.capture.torch_private.resolving import MISSING, read_own

_BASE = re.compile(r"(?P<where>[LG])\[['\"](?P<name>[^'\"]+)['\"]\]")
_PART = re.compile(r"\.(?P<name>\w+)|\[['\"](?P<key>[^'\"]*)['\"]\]|\[(?P<place>\d+)\]")


class Scope(NamedTuple):
    """The variables that the captured code sees."""

    own: dict[str, Any]
    outer: dict[str, Any]

    @classmethod
    def of(cls, frame: FrameType) -> Scope:
        """Those of a frame that runs."""
        return cls(dict(locals_of(frame)), frame.f_globals)


def value_of(expression: str, scope: Scope) -> Any:
    """What an expression stands for there; None where that cannot be told."""
    base = _BASE.match(expression)
    if base is None:
        return None
    held = scope.own if base["where"] == "L" else scope.outer
    value = dict.get(held, base["name"])
    at = base.end()
    while at < len(expression) and value is not None:
        part = _PART.match(expression, at)
        if part is None:
            return None
        value, at = _part(value, part), part.end()
    return value


def written(expression: str) -> str:
    """The same as the program would write it: ``self.layers[0].weight``; "" where it would not."""
    base = _BASE.match(expression)
    if base is None or not base["name"].isidentifier() or base["name"].startswith("__"):
        return ""
    text, at, table = base["name"], base.end(), False
    while at < len(expression):
        part = _PART.match(expression, at)
        if part is None:
            return ""
        name, at = part["name"] or part["key"], part.end()
        if part["name"] in TABLES:
            table = True
            continue
        number = part["place"] or (name if name.isdigit() else "")
        text += f"[{number}]" if number else f".{name}" if table or part["name"] else f"[{name!r}]"
        table = False
    return text


def _part(value: Any, part: re.Match[str]) -> Any:
    name = part["name"] or part["key"] or part["place"]
    if isinstance(value, nn.Module):
        for table, held_by in TABLES.items():
            held = held_by(value)
            if part["name"] == table or name in held:
                return held if part["name"] == table else held[name]
    if part["name"]:
        own = read_own(value, name)
        return None if own is MISSING else own
    if isinstance(value, dict):
        return dict.get(value, part["key"])
    if isinstance(value, (list, tuple)) and part["place"]:
        return _entry(value, int(part["place"]))
    return None


def _entry(value: list[Any] | tuple[Any, ...], place: int) -> Any:
    entries = list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value)
    return next((each for at, each in enumerate(entries) if at == place), None)
