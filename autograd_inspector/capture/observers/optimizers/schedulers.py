"""Schedulers of learning rates: of which optimizer, where they are made and stepped, which lines give their factors."""

from __future__ import annotations

from typing import Any

from torch.optim import Optimizer
from torch.optim.lr_scheduler import (
    ChainedScheduler,
    CosineAnnealingWarmRestarts,
    CyclicLR,
    LambdaLR,
    LRScheduler,
    MultiplicativeLR,
    ReduceLROnPlateau,
    SequentialLR,
)

from autograd_inspector.capture.lines.returns import returns
from autograd_inspector.capture.lines.stacks import USER, classify
from autograd_inspector.capture.observers.optimizers.closures import callables_in
from autograd_inspector.capture.observers.optimizers.groups import groups_of, rate_of
from autograd_inspector.capture.observers.optimizers.knowing import KnownOptimizers
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.torch_private.resolving import read_own
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import observed
from autograd_inspector.model.program_events import SchedulerLoaded, SchedulerMade, SchedulerSaved, SchedulerStepped

_STEPPED: tuple[type, ...] = (LRScheduler, ReduceLROnPlateau, CosineAnnealingWarmRestarts)
_SAVED: tuple[type, ...] = (LRScheduler, ChainedScheduler, CyclicLR, LambdaLR, MultiplicativeLR, SequentialLR)
_LOADED: tuple[type, ...] = (*_SAVED, ReduceLROnPlateau)
"""Which have a method of their own for it."""


class Schedulers:
    """Notes the construction, the steps, and what is saved and loaded of those that have torch's base class."""

    def __init__(self, recording: Recording, guard: Guard, optimizers: KnownOptimizers) -> None:
        self.recording = recording
        self._guard = guard
        self._optimizers = optimizers
        self._making: set[int] = set()
        """Those whose constructor runs, by Python's ids."""

    def install(self, into: Installation) -> None:
        """Put the probes in place."""
        guard = self._guard
        observed(into, LRScheduler, "__init__", before=self._begun, after=self._made, guard=guard)
        for kind in _STEPPED:
            observed(into, kind, "step", after=self._stepped, guard=guard)
        for kind in _SAVED:
            observed(into, kind, "state_dict", after=self._saved, guard=guard)
        for kind in _LOADED:
            observed(into, kind, "load_state_dict", after=self._loaded, guard=guard)

    def _begun(self, scheduler: LRScheduler, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[float, ...]:
        self._making.add(id(scheduler))
        optimizer = next(iter(args[1:]), kwargs.get("optimizer"))
        return tuple(map(rate_of, groups_of(optimizer))) if isinstance(optimizer, Optimizer) else ()

    def _made(self, scheduler: LRScheduler, _args: Any, _kwargs: Any, given: tuple[float, ...] | None) -> None:
        self._making.discard(id(scheduler))
        number = self._number(scheduler)
        if number is not None:
            recording, kind = self.recording, type(scheduler).__name__
            codes = callables_in(read_own(scheduler, "lr_lambdas"))
            own = (code for code in codes if classify(code.co_filename) == USER)
            factors = tuple(recording.stacks.of_code(code, line) for code in own for _, line in returns(code))
            at, site, rates = len(recording.ops), recording.stacks.here(0), _rates(scheduler)
            factors = tuple(dict.fromkeys(factors))
            epoch = _epoch(scheduler)
            recording.events.append(SchedulerMade(at, site, number, kind, factors, rates, given or (), epoch))

    def _stepped(self, scheduler: LRScheduler, _args: Any, _kwargs: Any, _before: Any) -> None:
        number = None if id(scheduler) in self._making else self._number(scheduler)
        if number is not None:
            recording = self.recording
            at, site, kind = len(recording.ops), recording.stacks.here(0), type(scheduler).__name__
            rates, epoch = _rates(scheduler), _epoch(scheduler)
            recording.events.append(SchedulerStepped(at, site, number, kind, rates, epoch))

    def _saved(self, scheduler: LRScheduler, _args: Any, _kwargs: Any, _before: Any) -> None:
        self._moved(SchedulerSaved, scheduler)

    def _loaded(self, scheduler: LRScheduler, _args: Any, _kwargs: Any, _before: Any) -> None:
        self._moved(SchedulerLoaded, scheduler)

    def _moved(self, event: type[SchedulerSaved | SchedulerLoaded], scheduler: LRScheduler) -> None:
        number, recording = self._number(scheduler), self.recording
        if number is not None:
            at, site, kind = len(recording.ops), recording.stacks.here(0), type(scheduler).__name__
            recording.events.append(event(at, site, number, kind))

    def _number(self, scheduler: LRScheduler) -> int | None:
        optimizer = read_own(scheduler, "optimizer")
        if not self.recording.active() or not isinstance(optimizer, Optimizer):
            return None
        return self._optimizers.id_of(optimizer)


def _rates(scheduler: LRScheduler) -> tuple[float, ...]:
    """The learning rates that it left in the groups of its optimizer."""
    return tuple(map(rate_of, groups_of(read_own(scheduler, "optimizer"))))


def _epoch(scheduler: LRScheduler) -> int:
    epoch = read_own(scheduler, "last_epoch")
    return epoch if type(epoch) is int else 0
