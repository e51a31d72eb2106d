"""Observing methods and functions that no hook covers: put a probe in place, take it away again."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from autograd_inspector.capture.lines.callables import unwrapped
from autograd_inspector.capture.lines.stacks import SKIP, classify
from autograd_inspector.capture.undisturbed.dynamo import keep_out
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.instrumented import Probe, with_probe
from autograd_inspector.capture.undisturbed.stand_ins import stand_in_for

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
    around(into, owner, name, _MethodProbe(guard, before, after))


class _MethodProbe:
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


def around(into: Installation, owner: Any, name: str, probe: Probe) -> int:
    """Tell a probe each call of a method, or of a module's function. Returns the frames of ours around each call.

    The probe is put into the function's own code, so that it does not matter who holds the function: no frame is ours.
    Where there is no such code, something stands in for the function there: one is.
    """
    keep_out(probe)
    held = vars(owner)[name]
    function = _written(held)
    code = with_probe(function, probe) if isinstance(function, FunctionType) else None
    if code is not None:
        into.recode(function, code)
        return 0
    stand_in, probes = stand_in_for(held)
    into.made(probes.clear)
    probes[:] = [probe]
    into.replace(owner, name, stand_in)
    return 1


def _written(held: Any) -> Any:
    """The function that runs in the end: torch's own, whatever a decorator has put around it."""
    function = held.__func__ if isinstance(held, (classmethod, staticmethod)) else held
    inner = unwrapped(function)
    return inner if isinstance(inner, FunctionType) and classify(inner.__code__.co_filename) == SKIP else function
