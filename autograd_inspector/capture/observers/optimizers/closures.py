"""The code behind what an optimizer step is given to call: a closure, in whatever form, or a whole model."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from itertools import islice
from types import CodeType, FunctionType, MethodType
from typing import Any

from torch import nn

from autograd_inspector.capture.lines.attributes import looked_up, members_of, order_of
from autograd_inspector.capture.lines.stacks import SKIP, classify

_DEEPEST = 8
"""A partial of a bound method of a decorated function is four deep."""
_LONGEST = 1000
"""Of a container that is longer only the first entries are looked at."""


def codes_of(optimizer: object, arguments: Iterable[Any]) -> tuple[CodeType, ...]:
    """The code of each callable among what a step of that optimizer was given.

    None of the program's code runs here: no attribute is asked for that a class could compute.
    """
    codes = dict.fromkeys(code for value in arguments for code in _codes(value))
    if not codes:
        return ()
    # A decorator's wrapper around the step, too, does not tell whether the closure runs.
    steps = (members_of(kind).get("step") for kind in order_of(type(optimizer)))
    step_codes = {id(code) for step in steps for code in _codes(step)}
    return tuple(code for code in codes if id(code) not in step_codes)


def callables_in(value: Any) -> tuple[CodeType, ...]:
    """The code of each callable in a list, or of the callable itself."""
    return tuple(dict.fromkeys(_codes(value)))


def _codes(value: Any, depth: int = 0) -> Iterator[CodeType]:
    kind = type(value)
    if depth > _DEEPEST:
        return
    if kind in _CONTAINERS:
        for entry in islice(value.values() if kind is dict else value, _LONGEST):
            yield from _codes(entry, depth + 1)
    elif kind is FunctionType:
        within = value.__dict__.get("__wrapped__")
        if within is None or classify(value.__code__.co_filename) != SKIP:
            yield value.__code__  # Torch's own wrappers, as of `@torch.enable_grad()`, are around everything.
        yield from _codes(within, depth + 1)
    elif callable(value):
        for called in _called(value):
            yield from _codes(called, depth + 1)


_CONTAINERS = {list, tuple, dict}


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
