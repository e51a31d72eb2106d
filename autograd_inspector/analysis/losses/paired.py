"""A column against a row: operands of shape [N, 1] and [N], which broadcasting pairs each with all of the others."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.losses.given import handed_on
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op, Trait

_ELEMENTWISE = OpKind.ADDS | OpKind.SUBTRACTS | OpKind.MULTIPLIES | OpKind.DIVIDES


class Paired(Struct, frozen=True):
    """An op whose operands are ``column`` [N, 1] and ``row`` [N], and the op that reduces all N x N results to one."""

    op: Op
    column: int
    row: int
    reduced: Op


def paired(analysis: Analysis) -> Iterator[Paired]:
    """Of the ops that the losses were computed with, each line once.

    Where the pairs are wanted the shapes say so: both operands have two dimensions, both come from one tensor, or
    something that has two dimensions of its own meets the result before it is reduced.
    """
    runs = [run for run in analysis.capture.backwards if run.api == "backward"]
    told: set[object] = set()
    for op, _ in analysis.flow.upstream([(root, run.start) for run in runs for root in run.roots]):
        operands = _operands(analysis, op)
        if operands is None or op.has(Trait.BACKWARD) or line_of(analysis, op.site) in told:
            continue
        reduced = op if is_a(op.name, OpKind.MEASURES) else _reduced(analysis, op)
        if reduced is not None:
            told.add(line_of(analysis, op.site))
            yield Paired(op, *operands, reduced)


def _operands(analysis: Analysis, op: Op) -> tuple[int, int] | None:
    """(column, row) of an op that pairs them."""
    if len(op.inputs) < 2 or not (is_a(op.name, _ELEMENTWISE) or is_a(op.name, OpKind.MEASURES)):
        return None
    tensors = analysis.capture.tensors
    first, second = op.inputs[:2]
    column, row = (first, second) if len(tensors[first].shape) > len(tensors[second].shape) else (second, first)
    count = tensors[row].shape[0] if len(tensors[row].shape) == 1 else 0
    if count <= 1 or tensors[column].shape != (count, 1):
        return None
    origins = {handed_on(analysis, column), handed_on(analysis, row)}
    own = any(tensors[tensor].kind == "parameter" for tensor in origins)
    return None if own or len(origins) == 1 or _made_a_column(analysis, column) else (column, row)


def _made_a_column(analysis: Analysis, tensor: int) -> bool:
    """Whether the program itself gave what has one dimension a second one."""
    made = analysis.flow.birth(tensor)
    tensors = analysis.capture.tensors
    return (
        made is not None
        and is_a(made.name, OpKind.VIEWS)
        and bool(made.inputs)
        and len(tensors[made.inputs[0]].shape) == 1
    )


def _reduced(analysis: Analysis, op: Op) -> Op | None:
    """The op that makes one number of all pairs, where they were computed with element by element until then."""
    capture = analysis.capture
    shape = capture.tensors[op.outputs[0]].shape if op.outputs else ()
    count = shape[0] if len(shape) == 2 and shape[0] == shape[1] else 0
    pairs = {*op.outputs}
    # In program order: what reads two of the results is looked at when both are known.
    todo = sorted({index for tensor in pairs for index in capture.readers.get(tensor, ())})
    last: Op | None = None
    while todo and count:
        reader = capture.ops[heappop(todo)]
        shapes = {capture.tensors[tensor].shape for tensor in reader.outputs}
        others = {capture.tensors[tensor].shape for tensor in reader.inputs if tensor not in pairs}
        if reader.has(Trait.BACKWARD) or not reader.outputs:
            continue
        if not others <= {(), (1,), (count,), (count, 1)} or not shapes <= {(), (count, count)}:
            return None
        if shapes == {()}:
            last = reader
            continue
        fresh = [tensor for tensor in reader.outputs if tensor not in pairs]
        pairs.update(fresh)
        for index in {index for tensor in fresh for index in capture.readers.get(tensor, ())}.difference(todo):
            heappush(todo, index)
    return last
