"""Observing methods that no hook covers: put a wrapper in place, take it away again."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Guard = Callable[..., Any]
Before = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
After = Callable[[Any, tuple[Any, ...], dict[str, Any], Any], None]


@contextmanager
def observed(
    owner: type, name: str, *, guard: Guard, after: After | None = None, before: Before | None = None
) -> Iterator[None]:
    """Call ``before(self, args, kwargs)`` and ``after(self, args, kwargs, what before returned)`` around a method.

    ``args`` has ``self`` first. ``after`` also runs when the method raised. Neither can raise into the program:
    both go through ``guard``.
    """
    original = owner.__dict__[name]

    @functools.wraps(original)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        seen = guard(before, self, (self, *args), kwargs) if before is not None else None
        try:
            return original(self, *args, **kwargs)
        finally:
            if after is not None:
                guard(after, self, (self, *args), kwargs, seen)

    setattr(owner, name, wrapper)
    try:
        yield
    finally:
        if owner.__dict__.get(name) is wrapper:
            setattr(owner, name, original)
