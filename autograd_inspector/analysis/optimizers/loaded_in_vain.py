"""State that is loaded into an optimizer that never steps with it: another one was made in its place."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.event import Step
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.program_events import StateLoaded


class LoadedInVain(Struct, frozen=True):
    """``following`` has parameters of the optimizer that was loaded, was made behind that, and begins their state anew."""

    loaded: StateLoaded
    following: OptimizerRecord
    step: Step
    tensors: tuple[int, ...]


def loaded_in_vain(analysis: Analysis) -> Iterator[LoadedInVain]:
    """One record for each load. What had stepped with its state was of use; another kind of optimizer has other state."""
    capture = analysis.capture
    loads = capture.events_of(StateLoaded)
    refilled = {event.optimizer for event in loads}
    for event in loads:
        optimizer = capture.placement.optimizers[event.optimizer]
        if any(True for _ in analysis.timeline.steps_of(event.optimizer).since(event.at)) or optimizer.steps:
            continue
        for other in capture.placement.optimizers:
            shared = set(optimizer.held).intersection(other.held)
            if other.id <= optimizer.id or other.created_at < event.at or other.id in refilled or not shared:
                continue
            step = next(iter(analysis.timeline.steps_of(other.id).all), None)
            begun = (
                tuple(p.tensor for p in step.parameters if p.begun and p.tensor in shared) if step is not None else ()
            )
            if step is not None and begun and (other.type, other.module) == (optimizer.type, optimizer.module):
                yield LoadedInVain(event, other, step, begun)
                break
