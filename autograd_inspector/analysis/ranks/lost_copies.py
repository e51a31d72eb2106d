"""What ranks exchange in copies of weights or gradients, and never use: the results of such calls are gone unread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from autograd_inspector.analysis.ranks.reductions import Reductions
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.event import Step
from autograd_inspector.model.program_events import SumLost

Of = Literal["weights", "gradients", "received"]


class LostCopies(Struct, frozen=True):
    """``event`` was given copies ``of`` the weights, or the gradients, of ``tensors``; ``step`` uses these as they were."""

    event: SumLost
    of: Of
    tensors: tuple[int, ...]
    step: Step | None


def lost_copies(capture: Capture, reductions: Reductions) -> Iterator[LostCopies]:
    """One for each line: of weights and gradients that no other call makes the same on all ranks."""
    reached = reductions.reached if not reductions.meant else ()
    alone = {tensor: each.step for each in reversed(reached) for tensor in each.local}
    calls = {call.at: call for call in reductions.exchanges.calls}
    for event in capture.events_of(SumLost):
        call = calls.get(event.at)
        if call is not None and not call.op:
            own = tuple(tensor for tensor in event.tensors if not _exchanged(reductions, tensor))
            if own:
                yield LostCopies(event, "received", own, None)
            continue
        handed = {
            tensor: step for tensor in event.tensors if (step := _handed(capture, reductions, tensor)) is not None
        }
        kinds: tuple[tuple[Of, dict[int, Step]], ...] = (("weights", alone), ("gradients", handed))
        for of, steps in kinds:
            own = tuple(tensor for tensor in event.tensors if tensor in steps)
            if own:
                yield LostCopies(event, of, own, steps[own[0]])
                break


def _exchanged(reductions: Reductions, tensor: int) -> bool:
    """Whether some call is given a weight itself, or a view of it."""
    storage = reductions.exchanges.storage
    return any(storage(tensor) == storage(given) for call in reductions.exchanges.calls for given in call.tensors)


def _handed(capture: Capture, reductions: Reductions, tensor: int) -> Step | None:
    """The first step that uses a gradient that the program assigned, and that came from no other rank."""
    for write in capture.grad_writes:
        if write.tensor != tensor or write.gradient < 0:
            continue
        for step in capture.steps:
            used = step.at >= write.at and any(p.gradient == write.gradient for p in step.parameters)
            memory = reductions.exchanges.storage(write.gradient)
            if used and memory not in reductions.exchanges.came(0, step.updates_from):
                return step
    return None
