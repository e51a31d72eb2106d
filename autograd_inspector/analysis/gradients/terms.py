"""Which readings of a gradient a combined gradient is a sum of, as terms: not as factors, limits or conditions.

A norm of an earlier gradient scales the sum, its magnitude limits it: neither counts it twice. The difference of two
readings is a gradient of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.stacked import entries_of
from autograd_inspector.analysis.gradients.turned import adds_turned, factor_of
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op
from autograd_inspector.model.torch_names import FOR_EACH

_HANDED_ON = (
    OpKind.VIEWS | OpKind.COPIES | OpKind.CONVERTS | OpKind.STACKS | OpKind.CONCATENATES | OpKind.DETACHES
    | OpKind.COPIES_INTO
)  # fmt: skip
_ADDED = OpKind.ADDS | OpKind.SUBTRACTS | OpKind.NEGATES | OpKind.INTERPOLATES | OpKind.ADDS_TO_FIRST

Span = tuple[int, int, int]
"""A gradient, and from when to when the program saw one value of it."""


def terms_of(analysis: Analysis, starts: Iterable[tuple[int, int]], spans: Sequence[Span]) -> set[int]:
    """The places of the readings that the tensors, each as an op met it, are sums of."""
    return _Terms(analysis, spans).reached(starts)


class _Terms:
    """Walks back to the readings of one gradient."""

    def __init__(self, analysis: Analysis, spans: Sequence[Span]) -> None:
        self._analysis = analysis
        self._spans = spans
        self._apart: dict[int, bool] = {}
        """Op -> whether it takes readings apart: asked once, for each asks about those behind it."""

    def reached(self, starts: Iterable[tuple[int, int]], *, scaled: bool = True) -> set[int]:
        """Through sums, up to differences of readings; ``scaled``: and through products with factors."""
        reached: set[int] = set()
        seen: set[tuple[int, int]] = set()
        todo = list(starts)
        while todo:
            tensor, before = todo.pop()
            number = _reading(self._analysis, self._spans, tensor, before)
            if number is not None:
                reached.add(number)
                continue
            entries = entries_of(self._analysis, tensor, before)
            if entries is not None:
                todo += [entry for entry in entries if (entry[1], entry[0]) not in seen]
                seen.update((index, entry) for entry, index in entries)
                continue
            for index in self._analysis.flow.producers(tensor, before):
                op = self._analysis.capture.ops[index]
                if (index, tensor) not in seen and not self._takes_apart(op):
                    seen.add((index, tensor))
                    plain = _is(op, _HANDED_ON | OpKind.ADDS | OpKind.SUBTRACTS | OpKind.NEGATES)
                    through = scaled or plain or factor_of(self._analysis, op) == -1
                    todo += [(operand, index) for operand in self._operands(op)] if through else ()
        return reached

    def _takes_apart(self, op: Op) -> bool:
        """Whether the program subtracts readings from others itself, as they are."""
        if op.index not in self._apart:
            half = len(op.inputs) // 2
            paired = len(op.inputs) == 2 * half and _is(op, OpKind.ADDS | OpKind.SUBTRACTS)
            self._apart[op.index] = paired and any(
                self._differ(op, a, b) for a, b in zip(op.inputs[:half], op.inputs[half:], strict=True)
            )
        return self._apart[op.index]

    def _differ(self, op: Op, a: int, b: int) -> bool:
        subtracts = _is(op, OpKind.SUBTRACTS) or adds_turned(self._analysis, op)
        if not subtracts and self._negated(a, op) == self._negated(b, op):
            return False
        # What is subtracted is a product, as a rule, and looked at first: the walk ends there.
        other = self._unscaled(b, op)
        one = self._unscaled(a, op) if other else set()
        return bool(one) and len(one | other) > 1

    def _negated(self, tensor: int, op: Op) -> bool:
        producers = self._analysis.flow.producers(tensor, op.index)
        made = self._analysis.capture.ops[producers[0]] if producers else None
        return made is not None and (_is(made, OpKind.NEGATES) or factor_of(self._analysis, made) < 0)

    def _unscaled(self, tensor: int, op: Op) -> set[int]:
        return self.reached([(tensor, op.index)], scaled=False)

    def _operands(self, op: Op) -> Iterator[int]:
        """The inputs whose elements are terms of the result."""
        tensors, inputs = self._analysis.capture.tensors, op.inputs
        shape = tensors[op.outputs[0]].shape if op.outputs else None
        if factor_of(self._analysis, op) == 0:
            return  # Times zero it is no term.
        if _is(op, OpKind.COPIES_INTO):
            written = {write.tensor for write in op.writes}
            yield from (tensor for tensor in inputs if tensor not in written)
        elif _is(op, _HANDED_ON | _ADDED):
            yield from inputs
        elif is_a(op.name, OpKind.CHOOSES):
            values = [tensor for tensor in inputs if "bool" not in tensors[tensor].dtype]
            # A reading in place of another one is added to none.
            plain = [tensor for tensor in values if self._unscaled(tensor, op)]
            yield from (tensor for tensor in values if tensor not in plain[1:])
        elif _is(op, OpKind.MULTIPLIES):
            yield from (tensor for tensor in inputs if shape is None or tensors[tensor].shape == shape)
        elif _is(op, OpKind.DIVIDES):
            yield from inputs[:1] if not op.name.startswith(FOR_EACH) else inputs
        elif _is(op, OpKind.MATRIX_MULTIPLIES | OpKind.REDUCES) and shape:
            # What has fewer elements than the result weighs the rows of the other one.
            yield from (tensor for tensor in inputs if tensors[tensor].nbytes >= tensors[op.outputs[0]].nbytes)


def _reading(analysis: Analysis, spans: Sequence[Span], tensor: int, at: int) -> int | None:
    """Which reading the op reads there: of the gradient itself, or of a view of it."""
    storage = analysis.capture.tensors[tensor].storage
    for number, (gradient, start, end) in enumerate(spans):
        shown = tensor == gradient or storage == analysis.capture.tensors[gradient].storage >= 0
        if shown and start <= at < end:
            return number
    return None


def _is(op: Op, kinds: OpKind) -> bool:
    """Whether the op is of one of those kinds; one on a list of tensors counts like its form that works in place."""
    listed = op.name.startswith(FOR_EACH) and not op.name.endswith("_")
    return is_a(f"{op.name}_" if listed else op.name, kinds)
