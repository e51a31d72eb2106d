"""Functions under what decorates them: none of the program's code runs to find them."""

from __future__ import annotations

from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any

from autograd_inspector.capture.lines.kinds import Kinds

_WRITTEN = Kinds(FunctionType, BuiltinFunctionType)
_DEEPEST = 20
"""So many decorators are looked under: what they name as decorated may go round in a circle."""


def unwrapped(function: Any) -> Any:
    """What a plain function decorates, and so on; anything else as it is."""
    for _ in range(_DEEPEST):
        within = dict.get(function.__dict__, "__wrapped__") if type(function) is FunctionType else None
        if type(within) is not FunctionType:
            break
        function = within
    return function


def code_of(function: Any) -> CodeType | None:
    """The code of a function or a method, under what decorates it; None of anything else."""
    inner = unwrapped(function.__func__ if type(function) is MethodType else function)
    return inner.__code__ if type(inner) is FunctionType else None


def name_of(called: Any) -> str:
    """The qualified name of a function or a method; of an object that is called, its class."""
    inner = called.__func__ if type(called) is MethodType else called
    kind = type(inner)
    return str.__str__(inner.__qualname__) if kind in _WRITTEN else kind.__name__


def held_by(function: FunctionType) -> list[Any]:
    """What a function was given when it was made: its defaults, and the variables around it."""
    try:
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
    except ValueError:  # One that is assigned later.
        cells = []
    return [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values(), *cells]
