"""Which readings of a gradient a combined gradient is a sum of, as terms: not as factors, limits or conditions.

A norm of an earlier gradient scales the sum, its magnitude limits it: neither counts it twice. The difference of two
readings is a gradient of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op
from autograd_inspector.model.torch_names import FOR_EACH

_HANDED_ON = (
    OpKind.VIEWS | OpKind.COPIES | OpKind.CONVERTS | OpKind.STACKS | OpKind.CONCATENATES | OpKind.DETACHES
    | OpKind.COPIES_INTO
)  # fmt: skip
_ADDED = OpKind.ADDS | OpKind.SUBTRACTS | OpKind.NEGATES | OpKind.INTERPOLATES | OpKind.ADDS_TO_FIRST
_CHOSEN = frozenset({"where", "masked_fill"})
"""Ops that choose between the elements of tensors by a condition."""

Span = tuple[int, int, int]
"""A gradient, and from when to when the program saw one value of it."""


def terms_of(analysis: Analysis, starts: Iterable[tuple[int, int]], spans: Sequence[Span]) -> set[int]:
    """The places of the readings that the tensors, each as an op met it, are sums of."""
    return _reached(analysis, starts, spans, apart=True)


def _reached(analysis: Analysis, starts: Iterable[tuple[int, int]], spans: Sequence[Span], *, apart: bool) -> set[int]:
    """``apart``: through sums, up to differences of readings; otherwise through what only hands on."""
    reached: set[int] = set()
    seen: set[tuple[int, int]] = set()
    todo = list(starts)
    while todo:
        tensor, before = todo.pop()
        number = _reading(analysis, spans, tensor, before)
        if number is not None:
            reached.add(number)
            continue
        for index in analysis.flow.producers(tensor, before):
            op = analysis.capture.ops[index]
            if (index, tensor) in seen or (apart and _takes_apart(analysis, op, spans)):
                continue
            seen.add((index, tensor))
            operands = _operands(analysis, op, spans) if apart or is_a(op.name, _HANDED_ON) else ()
            todo += [(operand, index) for operand in operands]
    return reached


def _reading(analysis: Analysis, spans: Sequence[Span], tensor: int, at: int) -> int | None:
    """Which reading the op reads there: of the gradient itself, or of a view of it."""
    storage = analysis.capture.tensors[tensor].storage
    for number, (gradient, start, end) in enumerate(spans):
        shown = tensor == gradient or storage == analysis.capture.tensors[gradient].storage >= 0
        if shown and start <= at < end:
            return number
    return None


def _operands(analysis: Analysis, op: Op, spans: Sequence[Span]) -> Iterator[int]:
    """The inputs whose elements are terms of the result."""
    tensors, inputs = analysis.capture.tensors, op.inputs
    shape = tensors[op.outputs[0]].shape if op.outputs else None
    if _is(op, OpKind.COPIES_INTO):
        written = {write.tensor for write in op.writes}
        yield from (tensor for tensor in inputs if tensor not in written)
    elif _is(op, _HANDED_ON) or _is(op, _ADDED):
        yield from inputs
    elif op.name in _CHOSEN:
        values = [tensor for tensor in inputs if "bool" not in tensors[tensor].dtype]
        # A reading in place of another one is added to none.
        plain = [tensor for tensor in values if _of(analysis, tensor, op, spans)]
        yield from (tensor for tensor in values if tensor not in plain[1:])
    elif _is(op, OpKind.MULTIPLIES):
        yield from (tensor for tensor in inputs if shape is None or tensors[tensor].shape == shape)
    elif _is(op, OpKind.DIVIDES):
        yield from inputs[:1] if not op.name.startswith(FOR_EACH) else inputs
    elif _is(op, OpKind.MATRIX_MULTIPLIES | OpKind.REDUCES) and shape:
        # What has fewer elements than the result weighs the rows of the other one.
        yield from (tensor for tensor in inputs if tensors[tensor].nbytes >= tensors[op.outputs[0]].nbytes)


def _is(op: Op, kinds: OpKind) -> bool:
    """Whether the op is of one of those kinds; one on a list of tensors counts like its form that works in place."""
    listed = op.name.startswith(FOR_EACH) and not op.name.endswith("_")
    return is_a(f"{op.name}_" if listed else op.name, kinds)


def _takes_apart(analysis: Analysis, op: Op, spans: Sequence[Span]) -> bool:
    """Whether the program subtracts one reading from another one itself."""
    half = len(op.inputs) // 2
    if len(op.inputs) != 2 * half or not _is(op, OpKind.SUBTRACTS):
        return False
    return any(
        bool(one) and bool(other) and one != other
        for a, b in zip(op.inputs[:half], op.inputs[half:], strict=True)
        for one, other in ((_of(analysis, a, op, spans), _of(analysis, b, op, spans)),)
    )


def _of(analysis: Analysis, tensor: int, op: Op, spans: Sequence[Span]) -> set[int]:
    return _reached(analysis, [(tensor, op.index)], spans, apart=False)
