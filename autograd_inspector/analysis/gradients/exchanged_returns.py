"""Gradients that a custom backward returned in each other's place: torch compares their shapes alone.

What a derivative depends on is read off the ops of forward: that of ``silu(gate) * up`` by ``up``, in which it is
linear, does not depend on ``up``. What a gradient depends on is read off the ops of backward.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import GradientsReturned

_LINEAR = (
    OpKind.VIEWS
    | OpKind.COPIES
    | OpKind.CONVERTS
    | OpKind.ADDS
    | OpKind.SUBTRACTS
    | OpKind.NEGATES
    | OpKind.REDUCES
    | OpKind.CONCATENATES
    | OpKind.STACKS
)
_PRODUCT = OpKind.MULTIPLIES | OpKind.MATRIX_MULTIPLIES
_NO_VALUES = OpKind.TAKES_SHAPE_ONLY | OpKind.RETURNS_CONSTANT
_Part = tuple[int, int, int]
"""Storage, offset and extent: a saved tensor comes back as another object."""
_Inputs = frozenset[int]
_NONE: _Inputs = frozenset()


class Exchanged(Struct, frozen=True):
    """The gradients at ``one`` and ``other``, of those that were returned, are each what the other should be.

    The gradient for the input ``revealing``, which is one of the two, was computed with the input ``stray``, and the
    derivative does not depend on that.
    """

    event: GradientsReturned
    one: int
    other: int
    revealing: int
    stray: int


class _Value(Struct, frozen=True):
    """The inputs that a value depends on, each with the inputs that its derivative by it may depend on."""

    by: dict[int, _Inputs]

    @property
    def inputs(self) -> _Inputs:
        return frozenset(self.by)


def exchanged_returns(analysis: Analysis) -> Iterator[Exchanged]:
    """Each pair that was observed to be what the two would be in each other's place, and not in their own."""
    capture = analysis.capture
    for event in capture.events_of(GradientsReturned):
        applied = capture.ops[event.applied] if event.applied >= 0 else None
        inputs = [t for t in applied.inputs if capture.tensors[t].requires_grad] if applied is not None else []
        if applied is None or len(inputs) != len(event.returned) or len(set(inputs)) < len(inputs):
            continue
        values = _forward(capture, applied, inputs)
        if values is None:
            continue
        result = values.get(_part(capture, applied.outputs[0])) if len(applied.outputs) == 1 else None
        found = _backward(capture, event, values)
        if result is None or found is None or result.inputs != frozenset(range(len(inputs))):
            continue
        for one, other in combinations(range(len(inputs)), 2):
            kinds = {(capture.tensors[inputs[i]].shape, capture.tensors[inputs[i]].dtype) for i in (one, other)}
            exchanged = found[one] == result.by[other] and found[other] == result.by[one]
            strays = [(at, stray) for at in (one, other) for stray in sorted(found[at] - result.by[at])]
            if len(kinds) == 1 and exchanged and strays:
                yield Exchanged(event, one, other, *strays[0])


def _forward(capture: Capture, applied: Op, inputs: list[int]) -> dict[_Part, _Value] | None:
    """What each tensor of a Function's forward depends on; None, where it read what is not known."""
    values = {_part(capture, tensor): _Value({}) for tensor in applied.inputs}
    values |= {_part(capture, tensor): _Value({number: _NONE}) for number, tensor in enumerate(inputs)}
    if len(values) < len(applied.inputs):
        return None  # Two of them share memory.
    start = applied.index
    while start and capture.ops[start - 1].has(Trait.INNER):
        start -= 1
    for op in capture.ops[start : applied.index]:
        read = _read(capture, op, values)
        if read is None:
            return None
        _put(capture, op, values, _computed(op, read))
    return values


def _backward(capture: Capture, event: GradientsReturned, forward: dict[_Part, _Value]) -> list[_Inputs] | None:
    """What each gradient that was returned was computed from; None, where it is not known."""
    values = forward | {_part(capture, tensor): _Value({}) for tensor in event.tensors}
    for op in capture.ops[event.at : event.until]:
        read = _read(capture, op, values)
        if read is None:
            return None
        inputs = _NONE if is_a(op.name, _NO_VALUES) else _NONE.union(*(value.inputs for value in read))
        _put(capture, op, values, _Value(dict.fromkeys(inputs, _NONE)))
    returned = [values.get(_part(capture, tensor)) for tensor in event.returned]
    return None if None in returned else [value.inputs for value in returned if value is not None]


def _read(capture: Capture, op: Op, values: dict[_Part, _Value]) -> list[_Value] | None:
    """What an op computes with; None, where one of its inputs is not known."""
    read = [
        values.get(_part(capture, tensor)) if capture.tensors[tensor].storage >= 0 else None for tensor in op.inputs
    ]
    known = [value for value in read if value is not None]
    return known if len(known) == len(read) else None


def _computed(op: Op, read: list[_Value]) -> _Value:
    if is_a(op.name, _NO_VALUES):
        return _Value({})
    every = _NONE.union(*(value.inputs for value in read))
    by: dict[int, _Inputs] = {}
    for place, value in enumerate(read):
        others = _NONE.union(*(other.inputs for at, other in enumerate(read) if at != place))
        for number, depends in value.by.items():
            by[number] = by.get(number, _NONE) | depends | _more(op, place, others, every)
    return _Value(by)


def _more(op: Op, place: int, others: _Inputs, every: _Inputs) -> _Inputs:
    """What an op adds to what the derivative by one of its inputs depends on."""
    if is_a(op.name, _PRODUCT):
        return others
    if is_a(op.name, _LINEAR):
        return _NONE
    return others if is_a(op.name, OpKind.DIVIDES) and not place else every


def _put(capture: Capture, op: Op, values: dict[_Part, _Value], value: _Value) -> None:
    """An op made that value. What lies in memory that it wrote depends on what it read, and on what it did before."""
    for tensor in op.outputs:
        values[_part(capture, tensor)] = value
    written = {write.storage for write in op.writes}
    for part in [part for part in values if part[0] in written]:
        by = values[part].by
        values[part] = _Value({n: by.get(n, _NONE) | value.by.get(n, _NONE) for n in by.keys() | value.by.keys()})


def _part(capture: Capture, tensor: int) -> _Part:
    record = capture.tensors[tensor]
    return record.storage, record.offset, record.extent
