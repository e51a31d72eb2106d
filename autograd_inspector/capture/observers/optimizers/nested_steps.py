"""Steps within steps: a wrapper calls the optimizer that it wraps, which may have learning rates of its own."""

from __future__ import annotations

from torch.optim import Optimizer

from autograd_inspector.capture.observers.optimizers.groups import groups_of, rate_of
from autograd_inspector.capture.observers.optimizers.open_step import OpenStep
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.program_events import StepNested

_MOST = 2
"""Of rates that are others again and again two tell as much as all."""
_PARAMS = "params"


class NestedSteps:
    """Notes those of optimizers that have the parameters and the options of the wrapper, and another lr."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._told: dict[tuple[int, str], list[tuple[float, ...]]] = {}

    def begins(self, optimizer: Optimizer, outer: OpenStep) -> None:
        """A step of that optimizer begins in the step of another one."""
        groups, recording = groups_of(optimizer), self._recording
        rates, kind = tuple(map(rate_of, groups)), type(optimizer).__name__
        told = self._told.setdefault((outer.optimizer, kind), [])
        as_told = told[-1] == rates if told else rates == outer.rates
        if as_told or len(told) >= _MOST or -1.0 in rates:
            return
        wrapper = recording.optimizers[outer.optimizer]
        own = [parameter for group in groups for parameter in group[_PARAMS]]
        alike = len(groups) == len(wrapper.groups) and [*map(id, own)] == [*map(id, outer.parameters)]
        pairs = zip(groups, wrapper.groups, strict=False)
        if alike and all(group.keys() - {_PARAMS} <= other.keys() for group, other in pairs):
            told.append(rates)
            at, site = len(recording.ops), recording.stacks.here(0)
            recording.events.append(StepNested(at, site, outer.optimizer, wrapper.type, kind, rates))
