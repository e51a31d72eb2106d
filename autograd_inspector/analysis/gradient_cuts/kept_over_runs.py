"""Results that the losses of several backwards are made of: with a graph, the second one would find it freed.

What a policy did, a teacher's answers, features that are computed once: they are constants, whatever else is cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from autograd_inspector.analysis.gradient_cuts.classifier import GradientCut
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Trait


def reached_from(capture: Capture, tensors: Iterable[int], start: int) -> set[int]:
    """The tensors that ops from ``start`` on computed from these, apart from updates and what models hold."""
    reached = set(tensors)
    for op in capture.ops[start:]:
        if not op.has(Trait.STEP | Trait.BACKWARD) and not reached.isdisjoint(op.inputs):
            reached.update(op.outputs)
            reached.update(write.tensor for write in op.writes if not capture.tensors[write.tensor].of_model)
    return reached


def is_kept_over_runs(capture: Capture, tensors: Iterable[int], after: int) -> bool:
    """Whether several backwards, none of which keeps its graph, start from what was computed of these after that op."""
    later = [run for run in capture.completed_runs if run.nested_in < 0 and run.start > after]
    if len(later) <= 1 or any(run.retain_graph for run in later):
        return False
    reached = reached_from(capture, tensors, after)
    return sum([not reached.isdisjoint(run.roots) for run in later]) > 1


def unexplained(cuts: tuple[GradientCut, ...], intended: Callable[[GradientCut], bool]) -> tuple[GradientCut, ...]:
    """Without the cuts that are there by intention, wherever the others keep as much from the same parameters."""
    if len(cuts) <= 1:
        return cuts
    judged = [(cut, intended(cut)) for cut in cuts]
    explained = {tensor for cut, meant in judged if not meant for tensor in cut.parameters}
    return tuple(cut for cut, meant in judged if not meant or not explained.issuperset(cut.parameters))
