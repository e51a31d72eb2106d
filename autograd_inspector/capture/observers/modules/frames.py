"""What the user's running frames tell of a model: the larger one that it is part of, and the variable that has it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import repeat
from operator import is_
from types import FrameType
from typing import Any

from torch import nn

from autograd_inspector.capture.lines.local_names import Chosen, held_modules
from autograd_inspector.capture.module_tree import modules_of


def outermost(module: nn.Module, stop: FrameType | None, chosen: Chosen | None) -> nn.Module:
    """The largest module of the user's frames that contains this one. In containers only the chosen are asked."""
    best, size = module, sum(1 for _ in modules_of(module))
    for candidate in {id(held): held for _, held in held_modules(stop, chosen)}.values():
        if candidate is not best:
            inside = list(modules_of(candidate))
            if len(inside) > size and any(child is module for child in inside):
                best, size = candidate, len(inside)
    return best


def variable_of(module: nn.Module, stop: FrameType | None, taken: Collection[str] = ()) -> str:
    """The outermost variable that holds a module, else a place in one, "" when none does (``self`` is no name).

    What is ``taken`` is the name of another one: a helper calls all that it is given by the same.
    """

    def it(entries: Iterable[Any]) -> Iterator[bool]:
        return map(is_, entries, repeat(module))

    found = [name for name, held in held_modules(stop, it) if held is module and not name.startswith("_")]
    names = [name for name in found if name != "self"]
    variables = [name for name in names if name.isidentifier()]
    own = [name for name in (*names, *variables) if name.removeprefix("self.") not in taken]
    return (own or variables or names or [""])[-1].removeprefix("self.")
