"""Weights that are moved for a second backward and moved back by something else than what had moved them.

What is taken back has to be what was added. Computed again, in the same way, from the gradients at the new point, it is
another one: the weights drift by the difference, which no learning rate scales.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import writing
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import Op, Trait

_ASIDE = Trait.STEP | Trait.BACKWARD

_DEEPEST = 6
_SUMS = OpKind.ADDS | OpKind.SUBTRACTS
Move = tuple[Op, int, bool]
"""An op that moved a parameter, by which tensor, and whether by its negative."""


class MovedBack(Struct, frozen=True):
    """``out`` moved the parameters, and ``back`` took what ``again`` computed from them after ``run``, before ``step``."""

    out: Op
    back: Op
    again: Op | None
    run: Backward
    step: Step
    parameters: tuple[int, ...]


def moved_back(analysis: Analysis) -> Iterator[MovedBack]:
    """Each pair of lines once."""
    found: dict[object, list[tuple[Op, Op, Backward, Step, int]]] = {}
    for tensor, moves in _moves(analysis).items():
        returned = False
        for one, other in pairwise(moves):
            # What takes a move back begins none: the next one belongs to the next round.
            begins = not returned
            returned = begins and one[1] == other[1] and one[2] != other[2]
            between = _between(analysis, tensor, one, other) if begins and not returned else None
            if between is not None:
                lines = line_of(analysis, one[0].site), line_of(analysis, other[0].site)
                found.setdefault(lines, []).append((one[0], other[0], *between, tensor))
    for each in found.values():
        out, back, run, step, _ = each[0]
        again = analysis.flow.birth(back.inputs[1])
        yield MovedBack(out, back, again, run, step, tuple(dict.fromkeys(pair[-1] for pair in each)))


def _moves(analysis: Analysis) -> dict[int, list[Move]]:
    """Optimized parameter -> the sums of the program that moved it, in place and outside of a step."""
    capture = analysis.capture
    by_memory = {capture.tensors[tensor].storage: tensor for tensor in capture.optimized}
    moves: dict[int, list[Move]] = {}
    for op in writing(capture):
        if len(op.inputs) == 2 and is_a(op.name, _SUMS) and not op.has(_ASIDE):
            tensor = by_memory.get(op.writes[0].storage, -1)
            if tensor >= 0 and len(op.writes) == 1:
                moves.setdefault(tensor, []).append((op, op.inputs[1], is_a(op.name, OpKind.SUBTRACTS)))
    return moves


def _between(analysis: Analysis, tensor: int, one: Move, other: Move) -> tuple[Backward, Step] | None:
    """(the backward at the new point, the step that uses its gradients); None where what was added is taken back."""
    (out, given, negative), (back, taken, negated) = one, other
    if given == taken or negative == negated or _way(analysis, given) != _way(analysis, taken):
        return None
    runs = analysis.timeline.backwards_to(tensor).within(out.index, back.index)
    before = analysis.timeline.backwards_to(tensor).places(0, out.index)
    holders = analysis.timeline.holders((tensor,))
    if len(runs) != 1 or not before or any(_steps(analysis, holder, out.index, back.index) for holder in holders):
        return None
    if _made_at(analysis, given) > runs[0].start or _made_at(analysis, taken) < runs[0].end:
        return None  # Both are of the same gradients.
    following = analysis.timeline.next_run(runs[0])
    end = len(analysis.capture.ops) if following is None else following.start
    steps = [step for holder in holders for step in _steps(analysis, holder, back.index, end)]
    return (runs[0], steps[0]) if steps else None


def _steps(analysis: Analysis, optimizer: int, start: int, end: int) -> list[Step]:
    return list(analysis.timeline.steps_of(optimizer).within(start, end))


def _made_at(analysis: Analysis, tensor: int) -> int:
    made = analysis.flow.birth(tensor)
    return made.index if made is not None else analysis.capture.tensors[tensor].first_use


def _way(analysis: Analysis, tensor: int, deepest: int = _DEEPEST) -> tuple[object, ...]:
    """The calls that a tensor was computed by, in their order."""
    made = analysis.flow.birth(tensor)
    if made is None or not deepest:
        return ()
    return (made.name, *(_way(analysis, each, deepest - 1) for each in made.inputs))
