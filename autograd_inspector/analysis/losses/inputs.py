"""Loss functions that are given another kind of value than they expect, by what computed it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.losses.given import computed_by
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op, Trait

Given = Literal["softmax", "sigmoid", "scores"]
"""What a loss function was given; ``scores``: the result of a layer that has no bounds, logits for example."""
Expected = Literal["logits for softmax", "logits for sigmoid", "log-probabilities"]

EXPECTED: dict[str, Expected] = {
    "cross_entropy": "logits for softmax",
    "binary_cross_entropy_with_logits": "logits for sigmoid",
    "nll_loss": "log-probabilities",
    "kl_div": "log-probabilities",
    "ctc_loss": "log-probabilities",
}
"""What the first input of a loss function has to be; see their pages in torch.nn.functional."""
_WRONG: dict[Expected, tuple[Given, ...]] = {
    "logits for softmax": ("softmax",),
    "logits for sigmoid": ("sigmoid",),
    "log-probabilities": ("softmax", "sigmoid", "scores"),
}
_UNBOUNDED = OpKind.MATRIX_MULTIPLIES | OpKind.CONVOLVES


class WrongInput(Struct, frozen=True):
    """A loss function, the op that made what it was given, and what that is."""

    loss: Op
    made: Op
    given: Given


def wrong_inputs(analysis: Analysis) -> Iterator[WrongInput]:
    """Each pair of lines once; of what a backward went through."""
    told: set[object] = set()
    used = {node.op for node in analysis.capture.nodes}
    for op in analysis.capture.ops:
        if op.name not in EXPECTED or op.index not in used or op.has(Trait.BACKWARD):
            continue
        made = computed_by(analysis, op.inputs[0]) if op.inputs else None
        given = _kind(made) if made is not None else None
        if made is None or given not in _WRONG[EXPECTED[op.name]]:
            continue
        lines = line_of(analysis, op.site), line_of(analysis, made.site)
        if lines not in told:
            told.add(lines)
            yield WrongInput(op, made, given)


def _kind(made: Op) -> Given | None:
    if made.name == "softmax":
        return "softmax"
    if made.name == "sigmoid":
        return "sigmoid"
    return "scores" if is_a(made.name, _UNBOUNDED) else None


class Swapped(Struct, frozen=True):
    """A loss function whose target is what a layer computed, and whose input is a constant."""

    loss: Op
    made: Op


def swapped(analysis: Analysis) -> Iterator[Swapped]:
    """Each line once. A target that is learned itself is a distribution, and no layer's unbounded result."""
    told: set[object] = set()
    tensors = analysis.capture.tensors
    for op in analysis.capture.ops:
        if EXPECTED.get(op.name, "log-probabilities") == "log-probabilities" or op.has(Trait.BACKWARD):
            continue
        if len(op.inputs) < 2 or tensors[op.inputs[0]].requires_grad or not tensors[op.inputs[1]].requires_grad:
            continue
        made = computed_by(analysis, op.inputs[1])
        if made is not None and is_a(made.name, _UNBOUNDED) and line_of(analysis, op.site) not in told:
            told.add(line_of(analysis, op.site))
            yield Swapped(op, made)
