"""Observing methods and functions that no hook covers: put a probe in place, take it away again."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ClassMethodDescriptorType, FunctionType
from typing import Any

from autograd_inspector.capture.guard import Guard
from autograd_inspector.capture.instrumented import Probe, running, with_probe

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
    with around(owner, name, _Observer(guard, before, after)):
        yield


class _Observer:
    """A probe that tells of the calls of this capture's threads, whether or not they raised."""

    def __init__(self, guard: Guard, before: Before | None, after: After | None) -> None:
        self._guard = guard
        self._before = before
        self._after = after

    def before(self, /, *args: Any, **kwargs: Any) -> Any:
        if not self._guard.tape.here():
            return None
        return args, kwargs, self._guard(self._before, args[0], args, kwargs) if self._before is not None else None

    def after(self, seen: Any, result: Any, /) -> Any:
        self._ended(seen)
        return result

    def failed(self, seen: Any, _error: BaseException, /) -> None:
        self._ended(seen)

    def _ended(self, seen: Any) -> None:
        if seen is not None and self._after is not None:
            args, kwargs, before = seen
            self._guard(self._after, args[0], args, kwargs, before)


@contextmanager
def around(owner: Any, name: str, probe: Probe) -> Iterator[None]:
    """Tell a probe each call of a method, or of a module's function: through a wrapper where it is written in C."""
    held = vars(owner)[name]
    function: Any = held.__func__ if isinstance(held, classmethod) else held
    code = with_probe(function, probe) if isinstance(function, FunctionType) else None
    with replaced(owner, name, _wrapper(held, probe)) if code is None else running(function, code):
        yield


def _wrapper(held: Any, probe: Probe) -> Any:
    of_class = isinstance(held, (classmethod, ClassMethodDescriptorType))

    @functools.wraps(held.__func__ if isinstance(held, classmethod) else held)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        seen = probe.before(*args, **kwargs)
        try:
            if of_class:
                return probe.after(seen, held.__get__(None, args[0])(*args[1:], **kwargs))
            return probe.after(seen, held(*args, **kwargs))
        except BaseException as error:
            probe.failed(seen, error)
            raise

    return classmethod(wrapper) if of_class else wrapper


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
