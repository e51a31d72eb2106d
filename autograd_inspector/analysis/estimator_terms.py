"""Sums written out as terms with signs, of which some were detached: in the value they count, in the gradient they do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.computations import Computations
from autograd_inspector.analysis.dataflow import DataFlow
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.signed_sums import SUMS, signed_operands
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op

_MOST = 12
"""A longer sum is none of an estimator."""


class _Term(Struct, frozen=True):
    tensor: int
    sign: int
    detached: bool


def estimates(capture: Capture, flow: DataFlow, op: Op) -> bool:
    """Whether a sum hands its gradient to a tensor that its value does not depend on: a straight-through estimator.

    ``(x - s * x).detach() + s * x`` computes one term twice: what was computed alike is one term.
    """
    values, gradients = signs_of(capture, flow, op) if is_a(op.name, SUMS) else ({}, {})
    computations = Computations(flow)
    value_of, gradient_of = Counter[int](), Counter[int]()
    learning: set[int] = set()
    for tensor, value in values.items():
        term = computations.of(tensor, 0)
        value_of[term] += value
        gradient_of[term] += gradients[tensor]
        if capture.tensors[tensor].requires_grad:
            learning.add(term)
    return any(not value_of[term] and gradient_of[term] > 0 for term in learning)


def signs_of(capture: Capture, flow: DataFlow, op: Op) -> tuple[dict[int, int], dict[int, int]]:
    """(with which sign each term of a sum counts in its value, in its gradient); nothing of a sum that is too long."""
    values: dict[int, int] = {}
    gradients: dict[int, int] = {}
    for term in _terms(capture, flow, op):
        values[term.tensor] = values.get(term.tensor, 0) + term.sign
        gradients[term.tensor] = gradients.get(term.tensor, 0) + (0 if term.detached else term.sign)
    return values, gradients


def _terms(capture: Capture, flow: DataFlow, op: Op) -> list[_Term]:
    """The terms, those within detached parts as well. One that stands in the sum twice is taken apart in neither place."""
    apart = list(_taken_apart(capture, flow, op, frozenset()))
    if len(apart) > _MOST:
        return []
    met = [tensor for tensor, _ in apart]
    if len(set(met)) < len(met):
        twice = frozenset(tensor for tensor in met if met.count(tensor) > 1)
        apart = list(_taken_apart(capture, flow, op, twice))
    return [term for _, term in apart if term is not None]


def _taken_apart(capture: Capture, flow: DataFlow, op: Op, whole: frozenset[int]) -> Iterator[tuple[int, _Term | None]]:
    """(tensor, its term; None: it is a sum itself, or was detached from what follows); ``whole`` is not taken apart."""
    todo = [_Term(op.inputs[at], sign, detached=False) for at, sign in signed_operands(op)]
    for _ in range(_MOST + 1):
        if not todo:
            return
        term = todo.pop()
        parts = _parts(capture, flow, op, term) if term.tensor not in whole else []
        todo += parts
        yield term.tensor, None if parts else term


def _parts(capture: Capture, flow: DataFlow, op: Op, term: _Term) -> list[_Term]:
    """What a term is the sum of, or was detached from; none where it is neither."""
    made = flow.birth(term.tensor)
    if made is None or made.writes or not made.inputs or not _same_shape(capture, made, op):
        return []
    if is_a(made.name, OpKind.DETACHES):
        return [_Term(made.inputs[0], term.sign, detached=True)]
    if is_a(made.name, OpKind.NEGATES) or (is_a(made.name, SUMS) and len(made.inputs) == 2):
        constant = term.detached or not capture.tensors[term.tensor].requires_grad
        return [_Term(made.inputs[at], sign * term.sign, constant) for at, sign in signed_operands(made)]
    return []


def _same_shape(capture: Capture, one: Op, other: Op) -> bool:
    return capture.tensors[one.outputs[0]].shape == capture.tensors[other.outputs[0]].shape if one.outputs else False
