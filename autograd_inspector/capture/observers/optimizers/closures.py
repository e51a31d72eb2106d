"""The code behind what an optimizer step is given to call: a closure, in whatever form, or a whole model."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from types import CodeType, FunctionType, MethodType
from typing import Any

from torch import nn

from autograd_inspector.capture.lines.attributes import looked_up, members_of, order_of
from autograd_inspector.capture.lines.kinds import Kinds
from autograd_inspector.capture.lines.stacks import SKIP, classify

_DEEPEST = 8
"""A partial of a bound method of a decorated function is four deep."""
_MOST = 1000
"""So many values are looked at in all: a step may be given its data, and a list may contain itself."""


def codes_of(optimizer: object, arguments: Iterable[Any]) -> tuple[CodeType, ...]:
    """The code of each callable among what a step of that optimizer was given.

    None of the program's code runs here: no attribute is asked for that a class could compute.
    """
    codes = dict.fromkeys(_codes_in(arguments))
    if not codes:
        return ()
    # A decorator's wrapper around the step, too, does not tell whether the closure runs.
    steps = (members_of(kind).get("step") for kind in order_of(type(optimizer)))
    step_codes = {id(code) for code in _codes_in(steps)}
    return tuple(code for code in codes if id(code) not in step_codes)


def callables_in(value: Any) -> tuple[CodeType, ...]:
    """The code of each callable in a list, or of the callable itself."""
    return tuple(dict.fromkeys(_codes_in((value,))))


def _codes_in(values: Iterable[Any]) -> Iterator[CodeType]:
    """The code of each callable among some values, and in the containers among these, the nearest first."""
    waiting, left = deque((value, 0) for value in values), _MOST
    while waiting and left:
        value, depth = waiting.popleft()
        left -= 1
        kind = type(value)
        if kind not in _CONTAINERS:
            yield from _codes(value, depth)
        elif depth < _DEEPEST:
            entries = value.values() if kind is dict else value
            waiting.extend((entry, depth + 1) for entry in islice(entries, max(left - len(waiting), 0)))


def _codes(value: Any, depth: int = 0) -> Iterator[CodeType]:
    kind = type(value)
    if depth > _DEEPEST:
        return
    if kind is FunctionType:
        within = value.__dict__.get("__wrapped__")
        if within is None or classify(value.__code__.co_filename) != SKIP:
            yield value.__code__  # Torch's own wrappers, as of `@torch.enable_grad()`, are around everything.
        yield from _codes(within, depth + 1)
    elif callable(value):
        for called in _called(value):
            yield from _codes(called, depth + 1)


_CONTAINERS = Kinds(list, tuple, dict)


def _called(value: Any) -> Iterator[Any]:
    """What a call of something that is no plain function goes on to."""
    kind = type(value)
    if kind is MethodType:
        yield value.__func__
    elif kind is functools._lru_cache_wrapper:
        yield value.__wrapped__
    elif issubclass(kind, functools.partial):
        yield _FUNC(value)
    else:
        yield _of_class(kind, "__call__")
        if issubclass(kind, nn.Module):
            yield value.__dict__.get("forward") or _of_class(kind, "forward")


_FUNC = vars(functools.partial)["func"].__get__


def _of_class(kind: type, name: str) -> Any:
    member = looked_up(kind, name)
    return member.__func__ if type(member) in {staticmethod, classmethod} else member
