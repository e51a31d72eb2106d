"""Targets that number this rank's rows as if they were those of rank 0, among the rows of all ranks.

Each row of scores compares one of this rank's queries with the keys of all ranks, one rank's behind the other's.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ranks.reductions import Reductions
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op
from autograd_inspector.model.program_events import Communicated

_MOST = 16
"""Ops between the scores and the keys."""
_ONE_BY_ONE = OpKind.DIVIDES | OpKind.MULTIPLIES | OpKind.CONVERTS | OpKind.VIEWS
"""What keeps the places of rows and columns."""


class OthersRows(Struct, frozen=True):
    """``loss`` takes ``scores`` over what ``gathered`` brought, and classes that ``numbered`` counts from 0."""

    loss: Op
    scores: int
    numbered: Op
    joined: Op
    gathered: Communicated
    rows: int


def others_rows(capture: Capture, reductions: Reductions) -> Iterator[OthersRows]:
    """Each line once, on ranks other than the first."""
    calls = [call for call in reductions.exchanges.calls if not call.op and call.world == capture.world_size > 1]
    told: set[int] = set()
    for op in capture.ops if calls and capture.rank > 0 else ():
        if op.recorded and is_a(op.name, OpKind.TAKES_CLASSES) and len(op.inputs) > 1 and op.site not in told:
            found = _found(capture, op, calls)
            if found is not None:
                told.add(op.site)
                yield found


def _found(capture: Capture, loss: Op, calls: list[Communicated]) -> OthersRows | None:
    scores, target = loss.inputs[:2]
    shape, numbered = capture.tensors[scores].shape, _made(capture, target)
    if numbered is None or len(shape) != 2 or shape[1] != shape[0] * capture.world_size:
        return None
    if numbered.inputs or _start(capture, numbered) != 0 or capture.tensors[target].shape != shape[:1]:
        return None
    joined = _joined(capture, scores)
    if joined is None or len(joined.inputs) != capture.world_size:
        return None
    brought = _made(capture, joined.inputs[0])
    if brought is None or joined.inputs != brought.outputs[: capture.world_size]:
        return None  # This rank's keys may have been put first.
    call = next((call for call in calls if brought.index - _MOST < call.at <= brought.index), None)
    return None if call is None else OthersRows(loss, scores, numbered, joined, call, shape[0])


def _start(capture: Capture, numbered: Op) -> float:
    """The first number that it counts from, one by one; -1 where that is not known."""
    given = capture.given.get(numbered.index, {})
    if given.keys() <= {"0", "1", "start", "end"} and given:
        return given.get("start", given["0"] if "1" in given else 0.0)
    return -1.0


def _joined(capture: Capture, scores: int) -> Op | None:
    """The op that put the keys of all ranks together, one behind the other, in the order of the columns."""
    made = _made(capture, scores)
    for _ in range(_MOST):
        if made is None or is_a(made.name, OpKind.CONCATENATES):
            break
        if is_a(made.name, OpKind.MATRIX_MULTIPLIES):
            made = _made(capture, made.inputs[1])
        elif made.inputs and is_a(made.name, _ONE_BY_ONE):
            made = _made(capture, made.inputs[0])
        else:
            return None
    return made if made is not None and is_a(made.name, OpKind.CONCATENATES) else None


def _made(capture: Capture, tensor: int) -> Op | None:
    birth = capture.tensors[tensor].birth
    return capture.ops[birth] if birth >= 0 else None
