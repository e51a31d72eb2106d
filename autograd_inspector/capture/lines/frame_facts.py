"""What a running frame tells that its code alone does not: which of its global names are modules or classes."""

from __future__ import annotations

from types import CodeType, FrameType, ModuleType
from typing import Any

from autograd_inspector.capture.lines.attributes import contents_of

_CLASS = ""
_LOOKS = 32
"""So often the names of a code are looked up that were not there before: a script has a new stack on each line."""

Met = dict[str, str | None]
"""Name -> the module that it is (by that module's own name), "" for a class, None for anything else."""


class GlobalNames:
    """The global names of each code that was met, as far as they were there: a script may import what it uses next."""

    def __init__(self) -> None:
        self._names_of_code: dict[int, _Names] = {}

    def meet(self, frame: FrameType) -> None:
        """Look at the global names that the frame's code reads: whenever a new stack of calls goes through it."""
        code = frame.f_code
        names = self._names_of_code.get(id(code))
        if names is None:
            names = self._names_of_code[id(code)] = _Names(code)
        names.look(frame.f_globals)

    def of(self, code: CodeType) -> Met | None:
        """Those of a code; None where no frame of it was met."""
        names = self._names_of_code.get(id(code))
        return None if names is None else names.modules

    def clear(self) -> None:
        """Let go of everybody's code."""
        self._names_of_code.clear()


class _Names:
    """Those of one code. It is kept, so that its id stays its own."""

    def __init__(self, code: CodeType) -> None:
        self.modules: Met = {}
        self._code = code
        self._absent: tuple[str, ...] = code.co_names
        self._left = _LOOKS

    def look(self, variables: dict[str, Any]) -> None:
        """Those that were not there the last time."""
        if self._absent and self._left:
            self._left -= 1
            self.modules.update(
                (name, _namespace(dict.__getitem__(variables, name)))
                for name in self._absent
                if dict.__contains__(variables, name)
            )
            self._absent = tuple([name for name in self._absent if name not in self.modules])


def _namespace(value: Any) -> str | None:
    if issubclass(type(value), ModuleType):
        return _name_of(value)
    return _CLASS if issubclass(type(value), type) else None


def _name_of(module: ModuleType) -> str:
    """Its name as the import system has it, without asking a module that computes its attributes."""
    name = contents_of(module).get("__name__", "")
    return name if type(name) is str else _CLASS
