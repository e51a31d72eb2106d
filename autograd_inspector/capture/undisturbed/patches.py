"""Observing methods and functions that no hook covers: put a probe in place, take it away again."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ClassMethodDescriptorType, FunctionType
from typing import Any

from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.instrumented import Probe, with_probe

Before = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
After = Callable[[Any, tuple[Any, ...], dict[str, Any], Any], None]


def observed(
    into: Installation,
    owner: type,
    name: str,
    *,
    guard: Guard,
    after: After | None = None,
    before: Before | None = None,
) -> None:
    """Call ``before(self, args, kwargs)`` and ``after(self, args, kwargs, what before returned)`` around a method.

    ``args`` has ``self`` first. ``after`` also runs when the method raised. Neither can raise into the program:
    both go through ``guard``. Calls made in another thread are not observed.
    """
    around(into, owner, name, _Observer(guard, before, after))


class _Observer:
    """A probe that tells of the calls of this capture's threads, whether or not they raised."""

    def __init__(self, guard: Guard, before: Before | None, after: After | None) -> None:
        self._guard = guard
        self._before = before
        self._after = after

    def before(self, seen: list[Any], /, *args: Any, **kwargs: Any) -> None:
        if self._guard.recording.here():
            before = self._guard.run(self._before, args[0], args, kwargs) if self._before is not None else None
            seen += (args, kwargs, before)

    def after(self, seen: list[Any], result: Any, /) -> Any:
        self._ended(seen)
        return result

    def failed(self, seen: list[Any], _error: BaseException, /) -> None:
        self._ended(seen)

    def _ended(self, seen: list[Any]) -> None:
        if seen and self._after is not None:
            args, kwargs, before = seen
            seen[:] = ()  # Once: an interrupt may strike when it is done.
            self._guard.run(self._after, args[0], args, kwargs, before)


def around(into: Installation, owner: Any, name: str, probe: Probe) -> None:
    """Tell a probe each call of a method, or of a module's function: through a wrapper where it is written in C."""
    held = vars(owner)[name]
    function: Any = held.__func__ if isinstance(held, classmethod) else held
    code = with_probe(function, probe) if isinstance(function, FunctionType) else None
    if code is None:
        into.replace(owner, name, _wrapper(held, probe))
    else:
        into.recode(function, code)


def _wrapper(held: Any, probe: Probe) -> Any:
    of_class = isinstance(held, (classmethod, ClassMethodDescriptorType))

    @functools.wraps(held.__func__ if isinstance(held, classmethod) else held)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        seen: list[Any] = []
        try:
            probe.before(seen, *args, **kwargs)
            if of_class:
                return probe.after(seen, held.__get__(None, args[0])(*args[1:], **kwargs))
            return probe.after(seen, held(*args, **kwargs))
        except BaseException as error:
            try:
                probe.failed(seen, error)
            except BaseException:
                probe.failed(seen, error)
                raise
            raise

    return classmethod(wrapper) if of_class else wrapper
