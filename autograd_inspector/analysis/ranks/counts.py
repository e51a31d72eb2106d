"""Losses that are divided by a count of all ranks, where a wrapper averages the gradients over the ranks as well."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ranks.losses import is_mean
from autograd_inspector.analysis.ranks.reductions import Reached, Reductions
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import Communicated, ReductionHooked, ReplicasWrapped

_SAME_NUMBER = OpKind.CONVERTS | OpKind.VIEWS | OpKind.COPIES | OpKind.DETACHES | OpKind.CLAMPS
"""A count stays one."""


class DividedByAll(Struct, frozen=True):
    """``by`` divides a sum of losses by what ``call`` has summed over all ranks; ``wrapper`` averages, too."""

    by: Op
    call: Communicated
    reached: Reached
    wrapper: ReplicasWrapped
    tensors: tuple[int, ...]


def divided_by_all(capture: Capture, reductions: Reductions) -> Iterator[DividedByAll]:
    """The first step of that kind; nothing where something else scales the loss, or the gradients behind it."""
    sums = [event for event in reductions.exchanges.calls if _sums_all(capture, event)]
    if not sums or capture.events_of(ReductionHooked):
        return
    for reached in reductions.reached:
        wrapped = [t for t in reached.reduced if t in reductions.wrapper_of]
        found = _of_loss(capture, reductions, reached, sums) if wrapped else None
        if found is None or reductions.wrapper_of[wrapped[0]].world != capture.world_size:
            continue
        if not scaled(capture, reductions, wrapped[0], reached):
            yield DividedByAll(*found, reached, reductions.wrapper_of[wrapped[0]], tuple(wrapped))
            return


def _sums_all(capture: Capture, event: Communicated) -> bool:
    whole = event.op == "sum" and event.world == capture.world_size > 1 and is_a(event.name, OpKind.REDUCES_RANKS)
    return whole and not event.inside and not event.results


def _of_loss(
    capture: Capture, reductions: Reductions, reached: Reached, sums: list[Communicated]
) -> tuple[Op, Communicated] | None:
    """(what divides the loss, the call that summed what it divides by)."""
    tensors, run = capture.tensors, reached.run
    births = [tensors[root].birth for root in run.roots]
    op = capture.ops[births[0]] if len(births) == 1 and births[0] >= 0 and not run.weights else None
    if op is None or not is_a(op.name, OpKind.DIVIDES) or len(op.inputs) != len(("loss", "count")):
        return None
    loss, count = op.inputs
    made = tensors[loss].birth
    if made < 0 or not (is_mean(capture.ops[made]) or is_a(capture.ops[made].name, OpKind.REDUCES)):
        return None
    call = _summed(capture, reductions, count, op.index, sums)
    return None if call is None else (op, call)


def _summed(
    capture: Capture, reductions: Reductions, count: int, end: int, sums: list[Communicated]
) -> Communicated | None:
    """The call that summed a number over the ranks, where nothing has computed with it since."""
    storage = reductions.exchanges.storage
    while count >= 0 and not capture.tensors[count].requires_grad:
        memory, birth = storage(count), capture.tensors[count].birth
        calls = [call for call in sums if call.at < end and memory in map(storage, call.tensors)]
        if calls:
            later = capture.ops[calls[-1].at + 1 : end]
            written = any(
                write.storage == memory for op in later for write in op.writes if not is_a(op.name, _SAME_NUMBER)
            )
            return None if written else calls[-1]
        if birth < 0 or not is_a(capture.ops[birth].name, _SAME_NUMBER) or len(capture.ops[birth].inputs) != 1:
            return None
        count = capture.ops[birth].inputs[0]
    return None


def scaled(capture: Capture, reductions: Reductions, tensor: int, reached: Reached) -> bool:
    """Whether something multiplies or divides the gradients by a plain number, or replaces them, before the step."""
    storage = reductions.exchanges.storage
    start, end = reached.run.start, reached.step.updates_from
    memory = {storage(gradient) for gradient in reductions.gradients(tensor)} - {-1}
    factors = OpKind.MULTIPLIES | OpKind.DIVIDES
    for op in capture.ops[start:end]:
        own = not op.has(Trait.COLLECTIVE) and not memory.isdisjoint(write.storage for write in op.writes)
        if own and is_a(op.name, factors) and len(op.inputs) == 1:
            return True
    assigned = any(w.tensor == tensor and start <= w.at <= end and w.gradient >= 0 for w in capture.grad_writes)
    return assigned or any(hook.tensor == tensor for hook in capture.tensor_hooks)
