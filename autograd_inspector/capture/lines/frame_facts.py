"""What a running frame tells that its code alone does not: which of its global names are modules or classes."""

from __future__ import annotations

from types import CodeType, FrameType, ModuleType
from typing import Any

from autograd_inspector.capture.lines.attributes import contents_of

_CLASS = ""


class GlobalNames:
    """Name -> the module that it is (by that module's own name), or "" for a class; of each code that was met."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[CodeType, dict[str, str]]] = {}
        """With the code itself, so that its id stays its own."""

    def meet(self, frame: FrameType) -> None:
        """Look at the global names that the frame's code reads: once a code."""
        code = frame.f_code
        if id(code) not in self._known:
            self._known[id(code)] = code, _namespaces(frame.f_globals, code.co_names)

    def of(self, code: CodeType) -> dict[str, str] | None:
        """Those of a code; None where no frame of it was met."""
        known = self._known.get(id(code))
        return None if known is None else known[1]

    def clear(self) -> None:
        """Let go of everybody's code."""
        self._known.clear()


def _namespaces(variables: dict[str, Any], names: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for name in names:
        value: Any = dict.get(variables, name)
        kind = type(value)
        if issubclass(kind, ModuleType):
            found[name] = _name_of(value)
        elif issubclass(kind, type):
            found[name] = _CLASS
    return found


def _name_of(module: ModuleType) -> str:
    """Its name as the import system has it, without asking a module that computes its attributes."""
    name = contents_of(module).get("__name__", "")
    return name if type(name) is str else ""
