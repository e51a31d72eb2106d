"""What to write where a detached copy starves parameters, by what the copy serves."""

from __future__ import annotations

from autograd_inspector.advice.naming import name_of, names_of
from autograd_inspector.advice.spelling import is_path
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.callers import called_on
from autograd_inspector.analysis.gradient_cuts.classifier import GradientCut, is_origin, may_learn
from autograd_inspector.analysis.gradient_cuts.harmful import is_state, stepped_with
from autograd_inspector.analysis.gradients.gathering import gathers
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.op import Op
from autograd_inspector.model.wording import summarize_names

_SEVERAL = 2


def attached(analysis: Analysis, cut: GradientCut, what: str) -> str:
    """The advice for a cut that ``what`` makes; a copy that several losses are computed from may be right for some."""
    gathered = handed_on(analysis, cut)
    if gathered:
        return f"Hand on the gradient that gathers there, once its last backward() is done: `{gathered}`."
    runs = _served(analysis, cut)
    if len(runs) < _SEVERAL:
        edit = _edit(analysis, cut.ops[0])
        form = f", with the out-of-place form of `{edit}`," if edit else ""
        return f"Use the tensor itself instead of {what}{form} where gradients must flow; keep {what} for logging."
    trained = [{t for held in stepped_with(analysis.capture, run) for t in held} for run in runs]
    training_cut = [held for held in trained if not held.isdisjoint(cut.parameters)]
    others = [held for held in trained if held and held.isdisjoint(cut.parameters)]
    if len(training_cut) == 1 and len(others) == len(runs) - 1:
        result = name_of(analysis, cut.ops[0].outputs[0])
        copy = f"write `{result}.detach()`" if is_path(result) else "detach the result"
        return (
            f"Remove {what} here, and {copy} only in the loss that trains "
            f"{summarize_names(names_of(analysis, sorted(set().union(*others))))}: the loss that trains "
            f"{summarize_names(names_of(analysis, cut.parameters))} needs the graph."
        )
    return f"Recompute it before each backward(): a graph can be used only once. Keep the {what} copy for comparisons."


def handed_on(analysis: Analysis, cut: GradientCut) -> str:
    """The statement that sends what gathered at a detached copy into the graph that it was cut from."""
    op = cut.ops[0]
    if gathers(analysis, cut) is None:
        return ""
    source, copy = called_on(analysis.capture.place(op.site), op.name), name_of(analysis, cut.through[0])
    return f"{source}.backward({copy}.grad)" if is_path(source) and is_path(copy) and source != copy else ""


def serves_one_loss(analysis: Analysis, cut: GradientCut) -> bool:
    """Whether no second backward starts from the very result that was cut."""
    return len(_served(analysis, cut)) < _SEVERAL


def _served(analysis: Analysis, cut: GradientCut) -> list[Backward]:
    """Of the next two backwards those that start from what was computed of the very result that was cut.

    By way of the memory of a parameter or a buffer they start from whatever was written to it.
    """
    capture, first = analysis.capture, cut.ops[0]
    runs = [r for r in capture.completed_runs if r.start > first.index][:_SEVERAL]
    return [
        run
        for run in runs
        if any(
            op.index == first.index
            for op, _ in analysis.flow.upstream(
                [(root, run.start) for root in run.roots], ends=lambda t: is_state(capture, t) or is_origin(capture, t)
            )
        )
    ]


def _edit(analysis: Analysis, op: Op) -> str:
    """The op that modifies a leaf through the alias, which autograd allows of the leaf itself under no_grad alone."""
    capture = analysis.capture
    if not any(may_learn(capture, tensor) for tensor in op.inputs):
        return ""
    memory = {capture.tensors[tensor].storage for tensor in op.outputs}
    readers = (capture.ops[at] for tensor in op.outputs for at in capture.readers.get(tensor, ()) if at > op.index)
    return next((r.name for r in readers if any(w.storage in memory for w in r.writes)), "")
