"""What became of parameters: made, registered, frozen and unfrozen, read, taken out of their models."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property
from operator import itemgetter

from autograd_inspector.analysis.dataflow import DataFlow
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.event import ParameterReplacement, RequiresGradChanged
from autograd_inspector.model.op import Op
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.program_events import ModuleAttached, OptimizerCreated, ParameterRegistered

Joining = ParameterRegistered | ModuleAttached


class ParameterLifecycle:
    """The turns in the life of each parameter, in program order. Moments are op indices."""

    def __init__(self, capture: Capture, flow: DataFlow) -> None:
        self._capture = capture
        self._flow = flow

    # --- made, and given to a model ---

    def made_at(self, tensor: int) -> list[int]:
        """The sites that registered it; else where its memory was made, or where it became a trainable leaf."""
        made = self._flow.birth(tensor)
        return (
            [event.site for event in self.registrations(tensor)]
            or ([made.site] if made is not None else [])
            or [change.site for change in self.unfrozen([tensor])][-1:]
        )

    def registrations(self, tensor: int) -> list[ParameterRegistered]:
        """Each time a module took it in as a parameter."""
        return self._registrations.get(tensor, [])

    def joined_since(self, tensor: int, optimizer: OptimizerRecord) -> list[Joining]:
        """What made it a model's after the optimizer was made: its registration, or that of its module."""
        events = self._capture.events
        creations = (i for i, e in enumerate(events) if isinstance(e, OptimizerCreated) and e.optimizer == optimizer.id)
        later = events[next(creations, 0) :]
        return [event for event in later if isinstance(event, Joining) and tensor in event.tensors]

    def began_after(self, tensor: int, optimizer: OptimizerRecord) -> bool:
        """Whether it was made, or became a model's, when the optimizer was there already."""
        if optimizer.created_at < 0:
            return False
        made = self._flow.birth(tensor)
        late = made is not None and made.index >= optimizer.created_at
        return late or bool(self.joined_since(tensor, optimizer))

    # --- frozen and unfrozen ---

    def changes(
        self, tensors: Iterable[int], *, since: float = -math.inf, until: float = math.inf
    ) -> list[RequiresGradChanged]:
        """Each time ``requires_grad`` of one of them was set, from moment ``since`` to moment ``until``."""
        numbered = (each for tensor in dict.fromkeys(tensors) for each in self._capture.changes_of.get(tensor, ()))
        return [change for _, change in sorted(numbered, key=itemgetter(0)) if since <= change.at <= until]

    def frozen(
        self, tensors: Iterable[int], *, since: float = -math.inf, until: float = math.inf
    ) -> list[RequiresGradChanged]:
        """Each time one of them was made to require no grad, from moment ``since`` to moment ``until``."""
        return [change for change in self.changes(tensors, since=since, until=until) if not change.requires_grad]

    def unfrozen(
        self, tensors: Iterable[int], *, since: float = -math.inf, until: float = math.inf
    ) -> list[RequiresGradChanged]:
        """Each time one of them was made to require grad, from moment ``since`` to moment ``until``."""
        return [change for change in self.changes(tensors, since=since, until=until) if change.requires_grad]

    def requires_grad_at(self, tensor: int, at: int) -> bool:
        """``requires_grad`` of a leaf when the op of that index ran."""
        return self._capture.requires_grad_at(tensor, at)

    def retired(self, tensors: Iterable[int]) -> dict[int, int]:
        """Parameter -> the moment since when it has been frozen for good, while steps went on without it.

        What is frozen again and again takes turns with others.
        """
        steps, retired = self._capture.steps, dict[int, int]()
        for tensor in tensors:
            frozen = self.frozen([tensor])
            since = frozen[0].at if len(frozen) == 1 else -1
            later = [step for step in steps if step.start > since]
            still = since >= 0 and not self.unfrozen([tensor], since=since)
            if still and len(later) > 1 and not any(tensor in step.held for step in later):
                retired[tensor] = since
        return retired

    # --- read, and taken out ---

    def used(self, tensor: int) -> bool:
        """Whether an op that autograd recorded read it: initialising or copying it is no use."""
        return tensor in self._read

    def first_reader(self, tensor: int) -> Op | None:
        """The first op that read it."""
        readers = self._capture.readers.get(tensor, ())
        return self._capture.ops[readers[0]] if readers else None

    def taken_out(self, tensor: int) -> ParameterReplacement | None:
        """What took it out of its model for good."""
        return None if tensor in self._capture.owners else self._replacements.get(tensor)

    # --- indices ---

    @cached_property
    def _registrations(self) -> dict[int, list[ParameterRegistered]]:
        return grouped(self._capture.events_of(ParameterRegistered), lambda event: event.tensor)

    @cached_property
    def _read(self) -> frozenset[int]:
        read = (t for op in self._capture.ops if op.recorded for t in op.inputs)
        return frozenset((*read, *self._capture.history.used))

    @cached_property
    def _replacements(self) -> dict[int, ParameterReplacement]:
        """Parameter -> the last replacement that took it out of a model."""
        replacements: dict[int, ParameterReplacement] = {}
        for replacement in sorted(self._capture.replacements, key=lambda each: each.at):
            out = (*(t for _, t in replacement.gone), *(t for _, t, _ in replacement.replaced))
            replacements.update(dict.fromkeys(out, replacement))
        return replacements
