"""What communication hooks of wrappers do beside their calls of torch.distributed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any

import torch.distributed as dist
from torch.futures import Future
from torch.overrides import TorchFunctionMode

from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import observed
from autograd_inspector.model.op import Trait
from autograd_inspector.model.program_events import ReductionContinued

_DIRECT = ("allreduce", "allreduce_coalesced", "allgather", "reduce_scatter", "alltoall", "alltoall_base", "broadcast")
"""Methods of a process group by which a hook may reduce without a function of torch.distributed."""


class CommHooks:
    """Notes the torch calls of callbacks that a hook goes on with, in another thread perhaps."""

    def __init__(self, recording: Recording, guard: Guard) -> None:
        self._recording = recording
        self._guard = guard

    def install(self, into: Installation) -> None:
        """Put the probes in place."""
        if not dist.is_available():
            return
        owner = Future.__bases__[0]
        into.replace(owner, "then", self._then(vars(owner)["then"]))
        for name in _DIRECT:
            if name in vars(dist.ProcessGroup):
                observed(into, dist.ProcessGroup, name, before=self._direct, guard=self._guard)

    def _hooked(self) -> bool:
        """Whether the engine runs, so that a hook is what calls."""
        recording = self._recording
        return not recording.closed and recording.here() and bool(recording.traits & int(Trait.BACKWARD))

    def _direct(self, _group: Any, _args: Any, _kwargs: Any) -> None:
        if self._hooked() and self._recording.active():
            self._note(self._recording.stacks.here(0), ("ProcessGroup",))

    def _note(self, site: int, ops: tuple[str, ...]) -> None:
        recording = self._recording
        if not recording.closed:
            recording.events.append(ReductionContinued(len(recording.ops), site, ops))

    def _then(self, then: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(then)
        def stand_in(future: Any, callback: Any, /) -> Any:
            if not (callable(callback) and self._hooked()):
                return then(future, callback)
            site = self._guard.run(self._recording.stacks.here, 0)
            return then(future, _Watched(callback, -1 if site is None else site, self._note, self._guard))

        return stand_in


class _Watched:
    """A callback, and the names of the torch calls that it makes."""

    def __init__(self, callback: Any, site: int, note: Callable[[int, tuple[str, ...]], None], guard: Guard) -> None:
        self._callback = callback
        self._site = site
        self._note = note
        self._guard = guard

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        recording = self._guard.recording
        own, before = threading.get_ident() == recording.thread, recording.continuing
        recording.continuing = own or before
        try:
            with _Names() as names:
                result = self._callback(*args, **kwargs)
        finally:
            recording.continuing = before
        self._guard.run(self._note, self._site, tuple(names.seen))
        return result


class _Names(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(getattr(func, "__name__", "?"))
        return func(*args, **(kwargs or {}))
