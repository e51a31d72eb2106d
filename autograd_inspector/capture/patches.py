"""Observing methods and functions that no hook covers: put a wrapper in place, take it away again."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from autograd_inspector.capture.guard import Guard

Before = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
After = Callable[[Any, tuple[Any, ...], dict[str, Any], Any], None]


@contextmanager
def observed(
    owner: type, name: str, *, guard: Guard, after: After | None = None, before: Before | None = None
) -> Iterator[None]:
    """Call ``before(self, args, kwargs)`` and ``after(self, args, kwargs, what before returned)`` around a method.

    ``args`` has ``self`` first. ``after`` also runs when the method raised. Neither can raise into the program:
    both go through ``guard``. Calls made in another thread are not observed.
    """
    original = owner.__dict__[name]

    @functools.wraps(original)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not guard.tape.here():
            return original(self, *args, **kwargs)
        seen = guard(before, self, (self, *args), kwargs) if before is not None else None
        try:
            return original(self, *args, **kwargs)
        finally:
            if after is not None:
                guard(after, self, (self, *args), kwargs, seen)

    with replaced(owner, name, wrapper):
        yield


@contextmanager
def replaced(owner: Any, name: str, stand_in: Any) -> Iterator[None]:
    """Another value for an attribute; on exit the original comes back, unless the program put its own there."""
    own = vars(owner)
    original = own[name]
    setattr(owner, name, stand_in)
    try:
        yield
    finally:
        if own.get(name) is stand_in:
            setattr(owner, name, original)
