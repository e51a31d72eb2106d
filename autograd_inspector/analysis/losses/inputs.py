"""Loss functions that are given another kind of value than they expect, by what computed it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.losses.given import computed_by
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import differentiated, ops_of
from autograd_inspector.model.op import Op, Trait

Given = Literal["distribution", "probabilities", "scores"]
"""What a loss function was given: what softmax made, what sigmoid made, what a layer without bounds made, logits perhaps."""
Expected = Literal["logits for softmax", "logits for sigmoid", "log-probabilities"]

_EXPECTED: tuple[tuple[OpKind, Expected], ...] = (
    (OpKind.TAKES_SCORES, "logits for softmax"),
    (OpKind.TAKES_LOGITS, "logits for sigmoid"),
    (OpKind.TAKES_LOGS, "log-probabilities"),
)
_WRONG: dict[Expected, tuple[Given, ...]] = {
    "logits for softmax": ("distribution",),
    "logits for sigmoid": ("probabilities",),
    "log-probabilities": ("distribution", "probabilities", "scores"),
}
_TAKES = OpKind.TAKES_SCORES | OpKind.TAKES_LOGITS
_ANY = _TAKES | OpKind.TAKES_LOGS
_UNBOUNDED = OpKind.MATRIX_MULTIPLIES | OpKind.CONVOLVES


def _expected_by(loss: str) -> Expected | None:
    """What the first input of a loss function has to be; see their pages in torch.nn.functional."""
    return next((expected for kind, expected in _EXPECTED if is_a(loss, kind)), None)


class WrongInput(Struct, frozen=True):
    """A loss function, the op that made what it was given, what that is, and what the loss expects."""

    loss: Op
    made: Op
    given: Given
    expected: Expected


def wrong_inputs(analysis: Analysis) -> Iterator[WrongInput]:
    """Each pair of lines once; of what a backward went through."""
    told: set[object] = set()
    for op in differentiated(analysis.capture, _ANY):
        expected = _expected_by(op.name)
        if expected is None or op.has(Trait.BACKWARD):
            continue
        made = computed_by(analysis, op.inputs[0]) if op.inputs else None
        given = _kind(made) if made is not None else None
        if made is None or given not in _WRONG[expected]:
            continue
        lines = line_of(analysis, op.site), line_of(analysis, made.site)
        if lines not in told:
            told.add(lines)
            yield WrongInput(op, made, given, expected)


def _kind(made: Op) -> Given | None:
    if made.name == "softmax":
        return "distribution"
    if made.name == "sigmoid":
        return "probabilities"
    return "scores" if is_a(made.name, _UNBOUNDED) else None


class Swapped(Struct, frozen=True):
    """A loss function whose target is what a layer computed, and whose input is a constant."""

    loss: Op
    made: Op


def swapped(analysis: Analysis) -> Iterator[Swapped]:
    """Each line once. A target that is learned itself is a distribution, and no layer's unbounded result."""
    told: set[object] = set()
    tensors = analysis.capture.tensors
    for op in ops_of(analysis.capture, _TAKES):
        if op.has(Trait.BACKWARD):
            continue
        if len(op.inputs) < 2 or tensors[op.inputs[0]].requires_grad or not tensors[op.inputs[1]].requires_grad:
            continue
        made = computed_by(analysis, op.inputs[1])
        if made is not None and is_a(made.name, _UNBOUNDED) and line_of(analysis, op.site) not in told:
            told.add(line_of(analysis, op.site))
            yield Swapped(op, made)
