"""Terms of a loss that teach only what nobody moves, for the side that was meant to learn from them is cut off."""

from __future__ import annotations

from collections.abc import Collection

from autograd_inspector.analysis.gradient_cuts.classifier import GradientCut, differentiable, is_origin
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Trait


def faces_results(capture: Capture, cut: GradientCut) -> bool:
    """Whether what a cut let through first meets results that have a graph, and no parameter.

    ``kl_div(student.detach(), teacher)`` compares two models. Where it goes into a layer (``probe(features.detach())``),
    that layer is what the term was written for.
    """
    met = [meeting for tensor in cut.through for meeting in _meetings(capture, tensor, cut.backward.start)]
    return bool(met) and not any(is_origin(capture, tensor) for others in met for tensor in others)


def _meetings(capture: Capture, tensor: int, end: int) -> list[Collection[int]]:
    """The other operands that require grad, of each op before ``end`` that first takes it in together with some."""
    met: list[Collection[int]] = []
    todo, seen = [tensor], {tensor}
    while todo:
        for index in capture.readers.get(todo.pop(), ()):
            op = capture.ops[index]
            if index >= end or op.has(Trait.BACKWARD | Trait.STEP):
                continue
            others = [t for t in op.inputs if capture.tensors[t].requires_grad and t not in seen]
            if others:
                met.append(others)
                continue
            made = [t for t in op.outputs if t not in seen and differentiable(capture.tensors[t].dtype)]
            todo += made
            seen.update(made)
    return met
