"""DistributedDataParallel: which parameters it reduces, when it is called, and when it is told not to reduce."""

from __future__ import annotations

import gc
import inspect
import weakref
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from autograd_inspector.capture.module_tree import named_buffers, named_parameters
from autograd_inspector.capture.observers.distributed.lone_wrappers import LoneWrappers
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import needs_grad
from autograd_inspector.capture.torch_private.distributed import hooked, joins, reduced_parameters
from autograd_inspector.capture.torch_private.modules import own_children
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import observed
from autograd_inspector.model.program_events import (
    ReductionHooked,
    ReplicasWrapped,
    SyncSwitchedOff,
    WrappedAlone,
    WrapperCalled,
    WrapperReturned,
)

_CONSTRUCTOR = inspect.signature(DistributedDataParallel.__init__)


class Wrapper(NamedTuple):
    """One that was met."""

    ref: weakref.ref[Any]
    number: int
    managed: frozenset[int]
    """Python's ids of its parameters, which it keeps alive."""
    tensors: frozenset[int]
    """The numbers of these."""


class Wrappers:
    """Those of more than one rank, each met when it is made, or found when the capture begins."""

    def __init__(self, recording: Recording, guard: Guard) -> None:
        self._recording = recording
        self._guard = guard
        self._met: dict[int, Wrapper] = {}
        """By Python's id."""
        self._gone: list[Wrapper] = []
        """Those whose places in memory others have taken."""
        self._count = 0
        self._calls: Counter[int] = Counter()
        self._lonely: set[int] = set()
        """Python's ids of those that have no other rank."""
        self._lone = LoneWrappers(recording)

    def install(self, into: Installation) -> None:
        """Meet those that are there, and observe those that come."""
        if not dist.is_available():
            return
        if dist.is_initialized():
            self._guard.run(self._find)
        observed(into, DistributedDataParallel, "__init__", after=self._made, guard=self._guard)
        observed(into, DistributedDataParallel, "forward", before=self._called, after=self._returned, guard=self._guard)
        observed(into, DistributedDataParallel, "register_comm_hook", after=self._hooked, guard=self._guard)
        observed(into, DistributedDataParallel, "no_sync", before=self._switched_off, guard=self._guard)

    def managed(self) -> Iterator[tuple[int, frozenset[int]]]:
        """(number, Python's ids of the parameters that it reduces) of each that is alive."""
        for wrapper in list(self._met.values()):
            if wrapper.ref() is not None:
                yield wrapper.number, wrapper.managed

    def gone(self) -> Iterator[tuple[int, frozenset[int]]]:
        """(number, its parameters' numbers) of each that is no longer there, and so reduces nothing."""
        for wrapper in [*self._gone, *self._met.values()]:
            if wrapper.ref() is None:
                yield wrapper.number, wrapper.tensors

    def _find(self) -> None:
        """The program may have made them before the capture began, and call the model inside from now on.

        The collector knows what refers to a class: its instances. To ask it takes milliseconds, once a capture, and
        only where there is a process group.
        """
        for kind in _with_subclasses(DistributedDataParallel):
            for found in gc.get_referrers(kind):
                if type(found) is kind:
                    self._meet(found, -1)

    def _made(self, wrapper: Any, args: Any, kwargs: Any, _before: Any) -> None:
        if self._recording.active():
            given = _CONSTRUCTOR.bind_partial(*args, **kwargs).arguments
            self._meet(wrapper, self._recording.stacks.here(0), apart=given.get("init_sync") is False)

    def _meet(self, model: Any, site: int, *, apart: bool = False) -> Wrapper | None:
        known = self._met.get(id(model))
        if known is not None and known.ref() is model:
            return known
        own = vars(model)
        if "reducer" not in own:
            return None  # Its constructor raised.
        recording = self._recording
        world = dist.get_world_size(own["process_group"])
        if world <= 1:
            self._alone(model, site)
            return None
        # Of what did not require grad when it was made it reduces nothing; of one made earlier that is not known.
        reduced = [parameter for parameter in reduced_parameters(model) if needs_grad(parameter)]
        managed, tensors = frozenset(map(id, reduced)), tuple(map(recording.id_of, reduced))
        if known is not None:
            self._gone.append(known)
        wrapper = self._met[id(model)] = Wrapper(weakref.ref(model), self._count, managed, frozenset(tensors))
        self._count += 1
        recording.registry.parameters.update(tensors)
        searches = bool(own.get("find_unused_parameters") or own.get("static_graph"))
        names = own.get("parameters_to_ignore") or ()
        ignored = tuple(
            recording.id_of(p) for name, p in named_parameters(own_children(model)["module"]) if name in names
        )
        at = len(recording.ops) if site >= 0 else 0
        recording.events.append(
            ReplicasWrapped(
                at,
                site,
                type(model).__name__,
                wrapper.number,
                tensors,
                world,
                searches,
                ignored,
                bool(own.get("static_graph")),
                apart,
            )
        )
        if hooked(model):
            recording.events.append(ReductionHooked(at, -1, type(model).__name__, wrapper.number))
        return wrapper

    def _alone(self, model: Any, site: int) -> None:
        """It reduces over this rank alone."""
        recording = self._recording
        self._lone.meet(model, site)
        if dist.get_world_size() > 1 and id(model) not in self._lonely:
            self._lonely.add(id(model))
            tensors = tuple(recording.id_of(p) for p in reduced_parameters(model) if needs_grad(p))
            at = len(recording.ops) if site >= 0 else 0
            recording.events.append(WrappedAlone(at, site, type(model).__name__, tensors))

    def _called(self, model: Any, _args: Any, _kwargs: Any) -> None:
        recording = self._recording
        wrapper = self._meet(model, -1) if recording.active() else None
        if wrapper is None and recording.active():
            self._lone.called(model)
        learns, own = torch.is_grad_enabled(), vars(model)
        synced = learns and own.get("require_backward_grad_sync") is not False
        if wrapper is not None and (learns or exchanges_buffers(own)):
            self._calls[wrapper.number] += synced or exchanges_buffers(own)
            site, kind, nth = recording.stacks.here(0), type(model).__name__, self._calls[wrapper.number]
            sent = _sent_buffers(recording, own, own_children(model)["module"])
            recording.events.append(
                WrapperCalled(len(recording.ops), site, kind, wrapper.number, synced, nth, joins(model), learns, sent)
            )

    def _returned(self, model: Any, _args: Any, _kwargs: Any, _before: Any) -> None:
        recording = self._recording
        wrapper = self._met.get(id(model))
        if wrapper is not None and recording.active() and torch.is_grad_enabled():
            kind, at = type(model).__name__, len(recording.ops)
            recording.events.append(WrapperReturned(at, recording.stacks.here(0), kind, wrapper.number))

    def _hooked(self, model: Any, _args: Any, _kwargs: Any, _before: Any) -> None:
        recording = self._recording
        wrapper = self._meet(model, -1) if recording.active() else None
        if wrapper is not None and hooked(model):
            site = recording.stacks.here(0)
            recording.events.append(ReductionHooked(len(recording.ops), site, type(model).__name__, wrapper.number))

    def _switched_off(self, model: Any, _args: Any, _kwargs: Any) -> None:
        recording = self._recording
        wrapper = self._meet(model, -1) if recording.active() else None
        if wrapper is not None:
            site, kind = recording.stacks.here(0), type(model).__name__
            recording.events.append(SyncSwitchedOff(len(recording.ops), site, kind, wrapper.number))


def exchanges_buffers(own: dict[str, Any]) -> bool:
    """Whether each call makes the buffers those of rank 0."""
    return bool(
        own.get("forward_sync_buffers") and own.get("require_forward_param_sync") and own.get("modules_buffers")
    )


def _sent_buffers(recording: Recording, own: dict[str, Any], module: Any) -> tuple[int, ...]:
    """The numbers of the buffers that the call is about to make those of rank 0; the program may have replaced some."""
    if not exchanges_buffers(own) or own.get("buffer_hook") is not None:
        return ()
    left = own.get("parameters_to_ignore") or ()
    return tuple({recording.id_of(buffer): None for name, buffer in named_buffers(module) if name not in left})


def _with_subclasses(kind: type) -> Iterator[type]:
    yield kind
    subclasses: list[type] = type.__subclasses__(kind)
    for sub in subclasses:
        yield from _with_subclasses(sub)
