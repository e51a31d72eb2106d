"""Functions that are made again and again at one place, and the variables around it that all of them look up later."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from autograd_inspector.capture.lines.bytecode import instructions
from autograd_inspector.capture.lines.kinds import Kinds
from autograd_inspector.capture.lines.stacks import USER, classify

_GLOBALS = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
_PLAIN = Kinds(bool, int, float, str)
Value = tuple[Any, Any]
"""(class, value) of plain values, (None, Python's id) of others: nothing of the program is kept."""


class SharedVariables:
    """Remembers what the variables of each function were when the last one of its kind was met."""

    def __init__(self) -> None:
        self._met: dict[int, tuple[CodeType, dict[tuple[str, int], Value]]] = {}
        self._names: dict[int, tuple[str, ...]] = {}

    def changed(self, function: Any) -> tuple[str, ...]:
        """The variables that it shares with the last one from the same place, and that have another value now."""
        if type(function) is not FunctionType or classify(function.__code__.co_filename) != USER:
            return ()
        code = function.__code__
        now = dict(self._values(function))
        _, before = self._met.get(id(code), (code, {}))
        self._met[id(code)] = code, now
        return tuple(key[0] for key, value in now.items() if key in before and before[key] != value)

    def _values(self, function: FunctionType) -> Iterator[tuple[tuple[str, int], Value]]:
        """((name, which variable of that name), value)."""
        code = function.__code__
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
            try:
                yield (name, id(cell)), _mark(cell.cell_contents)
            except ValueError:  # One that is assigned later.
                continue
        held = function.__globals__
        for name in self._global_names(code):
            if name in held:
                yield (name, id(held)), _mark(held[name])

    def _global_names(self, code: CodeType) -> tuple[str, ...]:
        names = self._names.get(id(code))
        if names is None:
            found = (str(each.argval) for each in instructions(code) if each.opname in _GLOBALS)
            names = self._names[id(code)] = tuple(dict.fromkeys(found))
        return names


def _mark(value: Any) -> Value:
    kind = type(value)
    return (kind, value) if kind in _PLAIN else (None, id(value))
