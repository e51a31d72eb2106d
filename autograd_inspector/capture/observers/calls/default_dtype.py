"""Changes of the dtype that torch gives to what is created without one, and what is created after them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from autograd_inspector.capture.observers.calls.calling import Calling
from autograd_inspector.capture.recording.default_dtype import DefaultChange
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import dtype_of
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import around
from autograd_inspector.model.program_events import DefaultDtypeMet

_SETTERS = ("set_default_dtype", "set_default_tensor_type")
_SHORT = 8
"""So many elements of a list are asked for a dtype of their own."""

FACTORIES = frozenset(
    getattr(torch, name)
    for name in ("empty", "zeros", "ones", "eye", "linspace", "logspace", "rand", "randn", "tensor", "full")
)
"""Functions that make a tensor of the default dtype where they get no other."""


class DefaultDtype:
    """Notes the last change of the default, as long as that is another one than at first."""

    def __init__(self, recording: Recording, guard: Guard, forget: Callable[[Iterable[Any]], None]) -> None:
        """``forget``: has functions sorted out again, of which the usual ones are recorded without a look at them."""
        self._recording = recording
        self._guard = guard
        self._forget = forget

    def install(self, into: Installation) -> None:
        """Put the probes in place."""
        self._recording.first_dtype = torch.get_default_dtype()
        for name in _SETTERS:
            around(into, torch, name, _SetterProbe(self._recording, self._guard, self._forget, name))


class _SetterProbe:
    def __init__(self, recording: Recording, guard: Guard, forget: Callable[[Iterable[Any]], None], name: str) -> None:
        self._recording = recording
        self._guard = guard
        self._forget = forget
        self._name = name

    def before(self, seen: list[Any], /, *_: Any, **__: Any) -> None:
        """The default is about to be set."""

    def after(self, _seen: list[Any], result: Any, /) -> Any:
        """It was."""
        if self._guard.recording.here():
            self._guard.run(self._changed)
        return result

    def failed(self, seen: list[Any], error: BaseException, /) -> None:
        """What was given is no dtype."""

    def _changed(self) -> None:
        recording, now = self._recording, torch.get_default_dtype()
        first = recording.first_dtype
        changed = first is not None and now != first
        site = recording.stacks.here(0) if changed else -1
        self._forget(FACTORIES)
        recording.default_dtype = (
            None if first is None or not changed else DefaultChange(site, self._name, first, now, set())
        )


def made(recorder: Calling, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
    """A factory made a tensor while the default was another one than at first: note the line, once."""
    change = recorder.recording.default_dtype
    if change is None or not isinstance(result, Tensor) or dtype_of(result) != change.after:
        return
    if kwargs.get("dtype") is not None or kwargs.get("out") is not None or _has_dtype(args):
        return
    recording = recorder.recording
    site = recording.stacks.here(0)
    if site not in change.told:
        change.told.add(site)
        names = (str(dtype).removeprefix("torch.") for dtype in (change.before, change.after))
        recording.events.append(DefaultDtypeMet(len(recording.ops), site, change.site, change.name, *names))


def _has_dtype(args: tuple[Any, ...]) -> bool:
    """Whether what a tensor is made of brings its dtype with it: a NumPy array, or a list of such."""
    for value in args:
        parts = value[:_SHORT] if isinstance(value, (list, tuple)) else (value,)
        if any(hasattr(part, "dtype") for part in parts):
            return True
    return False
