"""Gradients that are summed over the ranks although they have been reduced already."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.ranks.reductions import Reached, Reductions
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Trait
from autograd_inspector.model.program_events import Communicated, ReductionHooked


class SummedAgain(Struct, frozen=True):
    """``call`` sums the gradients of ``tensors``, which a wrapper has averaged, or ``earlier`` has summed."""

    call: Communicated
    reached: Reached
    tensors: tuple[int, ...]
    earlier: Communicated | None = None


def summed_again(capture: Capture, reductions: Reductions) -> Iterator[SummedAgain]:
    """The first step of each kind; nothing where something scales the gradients: a mean of means is the mean."""
    hooked = {event.wrapper for event in capture.events_of(ReductionHooked)}
    sums = {event.nth: event for event in reductions.exchanges.calls if event.op == "sum"}
    told_of_wrapper = told_of_sums = False
    for reached in reductions.reached if sums else ():
        by_wrapper: list[tuple[int, Communicated]] = []
        twice: list[tuple[int, Communicated, Communicated]] = []
        for tensor in reached.reduced:
            events = [event for event in reductions.exchanged(tensor) if event.at < reached.step.updates_from]
            hooks = tensor in reductions.hooked_behind
            events = [event for event in events if event.nth in sums and (hooks or not event.inside)]
            late = [event for event in events if event.at >= (reached.run.start if event.inside else reached.run.end)]
            if not late:
                continue
            wrapper = reductions.wrapper_of.get(tensor)
            if wrapper is not None and wrapper.wrapper not in hooked:
                hooked_before = late[0].inside  # It ran before the wrapper's reducer did.
                if not hooked_before and not rewritten(
                    capture, reductions, tensor, reached.run.end, reached.step.updates_from
                ):
                    by_wrapper.append((tensor, late[0]))
                continue
            since = _last_step(capture, tensor, reached.run.start)
            early = [event for event in events if since <= event.at < reached.run.start]
            end = late[0].at if late[0].inside else reached.run.start
            if (
                wrapper is None
                and early
                and not rewritten(capture, reductions, tensor, early[-1].at, end, by_hooks=early[-1].inside)
            ):
                twice.append((tensor, late[0], early[-1]))
        if by_wrapper and not told_of_wrapper:
            told_of_wrapper = True
            yield SummedAgain(by_wrapper[0][1], reached, tuple(tensor for tensor, _ in by_wrapper))
        if twice and not told_of_sums:
            told_of_sums = True
            yield SummedAgain(twice[0][1], reached, tuple(tensor for tensor, *_ in twice), twice[0][2])


def _last_step(capture: Capture, tensor: int, end: int) -> int:
    """Behind which op the last step of a parameter before a moment lies; 0: there was none."""
    steps = (step.at for step in capture.steps if step.at < end and any(p.tensor == tensor for p in step.parameters))
    return max(steps, default=0)


def rewritten(
    capture: Capture, reductions: Reductions, tensor: int, start: int, end: int, *, by_hooks: bool = False
) -> bool:
    """Whether the program writes to a parameter's gradient between two moments, or gives it another one.

    What runs within a backward counts only ``by_hooks``.
    """
    storage = reductions.exchanges.storage
    memory = {storage(gradient) for gradient in reductions.gradients(tensor)} - {-1}
    for op in capture.ops[start:end]:
        if op.has(Trait.COLLECTIVE) or (op.has(Trait.BACKWARD) and not by_hooks):
            continue
        reads = any(storage(t) in memory for t in op.inputs)
        if any(write.storage in memory for write in op.writes) or (reads and op.outputs and op.name != "detach"):
            return True
    changed = (write.at for write in capture.grad_writes if write.tensor == tensor)
    return any(start <= at <= end for at in changed)
