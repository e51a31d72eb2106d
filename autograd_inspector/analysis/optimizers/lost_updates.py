"""Values of parameters that are lost: what a step or a load gave them is overwritten before anything computes with it.

A layer that sets its scale from the first batch, and takes each batch for the first. Two layers that are tied by a copy.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.memory.ledger import ASIDE, Ledger
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.event import ParameterStep, Step
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import ModelLoaded

_FEWEST = 2
"""Rounds in which it happens, and in each of those that were seen."""


class LostUpdates(Struct, frozen=True):
    """``steps`` moved ``tensors``; before anything else was computed with them, ``writes`` overwrote them."""

    tensors: tuple[int, ...]
    steps: tuple[Step, ...]
    writes: tuple[Op, ...]


class RoundedUpdates(Struct, frozen=True):
    """``steps`` moved ``tensors``, and ``write`` put in their place what ``rounded`` makes of them: the same for all nearby."""

    tensors: tuple[int, ...]
    steps: tuple[Step, ...]
    rounded: Op
    write: Op


class LostLoad(Struct, frozen=True):
    """``loaded`` wrote ``tensors``; ``writes`` overwrote them before anything was computed with them.

    ``begun_anew``: these drew random numbers for all weights that were loaded; else they are those of a forward.
    """

    tensors: tuple[int, ...]
    loaded: ModelLoaded
    writes: tuple[Op, ...]
    begun_anew: bool = False


def lost_updates(analysis: Analysis) -> Iterator[LostUpdates]:
    """One for each function that overwrites."""
    capture = analysis.capture
    ledger: Ledger | None = None
    found: dict[object, dict[int, tuple[list[Step], list[Op]]]] = {}
    for tensor in sorted(analysis.optimized_trainable) if len(capture.steps) >= _FEWEST else ():
        storage = capture.tensors[tensor].storage
        if storage < 0 or not _written_by_hand(analysis, tensor, capture.steps[0].op):
            continue
        ledger = ledger or Ledger(analysis)
        steps = [step for step in capture.steps if any(_moved(p, tensor) for p in step.parameters)]
        lost = [(step, write) for step in steps if (write := _lost(ledger, tensor, step.op)) is not None]
        if len(lost) >= _FEWEST and [step for step, _ in lost] in (steps, steps[:-1]):
            writes = [write for _, write in lost]
            found.setdefault(_function(analysis, writes[0]), {})[tensor] = [step for step, _ in lost], writes
    for each in found.values():
        last = next(reversed(each.values()))
        firsts = {line_of(analysis, writes[0].site): writes[0] for _, writes in each.values()}
        yield LostUpdates(tuple(each), tuple(last[0]), tuple(firsts.values()))


def rounded_updates(analysis: Analysis) -> Iterator[RoundedUpdates]:
    """One for each line that rounds what each of the steps has written, where nothing puts the values before it back."""
    capture = analysis.capture
    ledger: Ledger | None = None
    found: dict[object, dict[int, tuple[list[Step], Op, Op]]] = {}
    for tensor in sorted(analysis.optimized_trainable) if len(capture.steps) >= _FEWEST else ():
        if not _written_by_hand(analysis, tensor, capture.steps[0].op):
            continue
        ledger = ledger or Ledger(analysis)
        steps = [step for step in capture.steps if any(_moved(p, tensor) for p in step.parameters)]
        if len(steps) < _FEWEST:
            continue
        ends = [*(step.op for step in steps[1:]), len(capture.ops)]
        between = [ledger.by_hand(tensor, step.op + 1, end) for step, end in zip(steps, ends, strict=True)]
        lost = [(step, *writes[0]) for step, writes in zip(steps, between, strict=True) if len(writes) == 1]
        if len(lost) < _FEWEST or len(lost) < len(steps) - 1:
            continue
        rounded = [each for step, op, write in lost if (each := ledger.rounded(op, write, tensor, step.op)) is not None]
        if len(rounded) == len(lost):
            found.setdefault(line_of(analysis, lost[0][1].site), {})[tensor] = (
                steps[: len(lost)],
                rounded[0],
                lost[0][1],
            )
    for tensors in found.values():
        last, rounded_by, written = next(reversed(tensors.values()))
        yield RoundedUpdates(tuple(tensors), tuple(last), rounded_by, written)


def lost_loads(analysis: Analysis) -> Iterator[LostLoad]:
    """One for each load. By a forward: who overwrites what was loaded elsewhere wants another head, say."""
    capture = analysis.capture
    ledger: Ledger | None = None
    for loaded in capture.events_of(ModelLoaded):
        lost: dict[int, Op] = {}
        for tensor in analysis.optimized_trainable.intersection(loaded.tensors):
            if _written_by_hand(analysis, tensor, loaded.at):
                ledger = ledger or Ledger(analysis)
                write = _lost(ledger, tensor, loaded.at - 1)
                if write is not None and write.call >= 0:
                    lost[tensor] = write
        if lost:
            firsts = {line_of(analysis, lost[tensor].site): lost[tensor] for tensor in sorted(lost)}
            yield LostLoad(tuple(sorted(lost)), loaded, tuple(firsts.values()))


def loads_begun_anew(analysis: Analysis) -> Iterator[LostLoad]:
    """One for each load all of whose weights are drawn anew: who wants another head draws that one alone.

    Vectors do not count: an initialization sets them to a constant, or leaves them out. What is loaded once more
    afterwards has lost nothing.
    """
    loads = [event for event in analysis.capture.events_of(ModelLoaded) if not event.assign]
    ledger = Ledger(analysis) if loads else None
    for number, loaded in enumerate(loads):
        tensors = [t for t in loaded.tensors if len(analysis.capture.tensors[t].shape) > 1]
        again = {tensor for later in loads[number + 1 :] for tensor in later.tensors}
        if ledger is not None and tensors and again.isdisjoint(tensors):
            drawn = [
                write for tensor in tensors if (write := _drawn_anew(analysis, ledger, tensor, loaded)) is not None
            ]
            if len(drawn) == len(tensors):
                firsts = {line_of(analysis, write.site): write for write in drawn}
                yield LostLoad(tuple(tensors), loaded, tuple(firsts.values()), begun_anew=True)


def _drawn_anew(analysis: Analysis, ledger: Ledger, tensor: int, loaded: ModelLoaded) -> Op | None:
    """What filled a parameter with random numbers that are used, where the load had just written to it."""
    storage, end = analysis.capture.tensors[tensor].storage, len(analysis.capture.ops)
    written = next((op for op, _ in analysis.writes_back(storage, 0, loaded.at)), None)
    if written is None or line_of(analysis, written.site) != line_of(analysis, loaded.site):
        return None
    write = _lost(ledger, tensor, loaded.at - 1)
    drawn = write is not None and is_a(write.name, OpKind.FILLS_RANDOMLY)
    return write if write is not None and drawn and ledger.computed_with(tensor, write.index, end) else None


def _written_by_hand(analysis: Analysis, tensor: int, start: int) -> bool:
    storage, end = analysis.capture.tensors[tensor].storage, len(analysis.capture.ops)
    return any(not op.has(ASIDE) for op, _ in analysis.writes_to(storage, tensor, start + 1, end))


def _moved(parameter: ParameterStep, tensor: int) -> bool:
    return parameter.tensor == tensor and parameter.gradient >= 0 and parameter.version_after > parameter.version_before


def _lost(ledger: Ledger, tensor: int, at: int) -> Op | None:
    """What overwrites the parameter that op ``at`` has written; None: something is computed with it before."""
    following = ledger.next_write(tensor, at)
    if following is None or following[0].has(Trait.STEP | Trait.INNER):
        return None
    op, write = following
    if not ledger.replaces(op, write, tensor, at) or ledger.computed_with(tensor, at, op.index):
        return None
    return op


def _function(analysis: Analysis, op: Op) -> object:
    """The function of the program that ran an op."""
    place = analysis.capture.place(op.site)
    return None if place is None else place.scope
