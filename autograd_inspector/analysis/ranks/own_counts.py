"""Losses that are a mean of one rank's own and are multiplied by the number of ranks, as a mean over all would have to be."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from msgspec import Struct

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ranks.counts import scaled
from autograd_inspector.analysis.ranks.losses import counts_ranks, divides_by_own_count, is_mean
from autograd_inspector.analysis.ranks.reductions import Reached, Reductions
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op
from autograd_inspector.model.program_events import Communicated, ReductionHooked, ReplicasWrapped


class MultipliedByRanks(Struct, frozen=True):
    """``by`` multiplies what ``mean`` made; ``call`` had collected a count of all ranks, with which the loss is not made."""

    by: Op
    mean: Op
    call: Communicated
    reached: Reached
    wrapper: ReplicasWrapped
    tensors: tuple[int, ...]


def multiplied_by_ranks(capture: Capture, reductions: Reductions) -> Iterator[MultipliedByRanks]:
    """The first step of that kind; nothing where something scales the gradients behind it."""
    counts = [event for event in reductions.exchanges.calls if _collects_count(capture, event)]
    if not counts or not capture.given or capture.events_of(ReductionHooked):
        return
    for reached in reductions.reached:
        wrapped = [t for t in reached.reduced if t in reductions.wrapper_of]
        if not wrapped or reductions.wrapper_of[wrapped[0]].world != capture.world_size:
            continue
        found = _of_loss(capture, reached)
        call = _unused(capture, reached, counts) if found is not None else None
        if found is not None and call is not None and not scaled(capture, reductions, wrapped[0], reached):
            yield MultipliedByRanks(*found, call, reached, reductions.wrapper_of[wrapped[0]], tuple(wrapped))
            return


def _collects_count(capture: Capture, event: Communicated) -> bool:
    """Whether each rank gives one integer, and gets those of all, or their sum."""
    records = [capture.tensors[tensor] for tensor in event.tensors]
    single = all("int" in record.dtype and prod(record.shape) == 1 for record in records)
    whole = event.world == capture.world_size > 1 and not event.inside and _reaches_all(event.name)
    return bool(records) and single and whole and event.op in {"", "sum"}


def _reaches_all(name: str) -> bool:
    """Whether each rank gets something of every other one by that call, whoever begins."""
    return is_a(name, OpKind.OF_ONE_SIZE) and not is_a(name, OpKind.TO_ONE_RANK | OpKind.FROM_ONE_RANK)


def _of_loss(capture: Capture, reached: Reached) -> tuple[Op, Op] | None:
    """(what multiplies the loss, what made the mean that it multiplies)."""
    if len(reached.run.roots) != 1 or reached.run.weights:
        return None
    tensor, end = reached.run.roots[0], reached.run.start
    while tensor >= 0 and capture.tensors[tensor].birth >= 0:
        made = capture.ops[capture.tensors[tensor].birth]
        later = [op for op in capture.ops[made.index + 1 : end] if any(w.tensor == tensor for w in op.writes)]
        if len(later) == 1 and _by_ranks(capture, later[0]):
            return (later[0], made) if _mean(capture, made) else None
        if later or len(made.inputs) != 1:
            return None
        if _by_ranks(capture, made):
            birth = capture.tensors[made.inputs[0]].birth
            return (made, capture.ops[birth]) if birth >= 0 and _mean(capture, capture.ops[birth]) else None
        # A trainer divides by the steps of an accumulation, which may be one.
        if not (is_a(made.name, OpKind.DIVIDES) and _by_library(capture, made)):
            return None
        tensor = made.inputs[0]
    return None


def _mean(capture: Capture, op: Op) -> bool:
    return is_mean(op) or divides_by_own_count(capture, op)


def _by_ranks(capture: Capture, op: Op) -> bool:
    """Whether an op multiplies by the number of ranks: the program asked for it, or a library has it."""
    by = is_a(op.name, OpKind.MULTIPLIES) and capture.given.get(op.index, {}).get("1") == capture.world_size
    return by and len(op.inputs) == 1 and (counts_ranks(capture, op) or _by_library(capture, op))


def _by_library(capture: Capture, op: Op) -> bool:
    return next((frame.library for frame in capture.site(op.site)), False)


def _unused(capture: Capture, reached: Reached, counts: list[Communicated]) -> Communicated | None:
    """The last such call before a backward and behind the one before, unless the loss is computed with what it gave."""
    start = max(
        (run.end for run in capture.backwards if run.end <= reached.run.start and run is not reached.run), default=0
    )
    calls = [call for call in counts if start <= call.at < reached.run.start]
    if not calls:
        return None
    given = {capture.tensors[tensor].storage for call in calls for tensor in call.tensors}
    makers: dict[int, list[Op]] = {}
    for op in capture.ops[start : reached.run.start]:
        for tensor in {*op.outputs, *(write.tensor for write in op.writes)}:
            makers.setdefault(tensor, []).append(op)
    todo, seen = list(reached.run.roots), set[int]()
    while todo:
        tensor = todo.pop()
        if tensor < 0 or tensor in seen:
            continue
        seen.add(tensor)
        if capture.tensors[tensor].storage in given:
            return None
        todo += [given_to for op in makers.get(tensor, ()) for given_to in op.inputs]
    return calls[-1]
