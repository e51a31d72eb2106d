"""AG301 where ``autograd.grad(..., allow_unused=True)`` finds no way to an input, for a cut lies on it.

The derivative of a residual's solution by its own coordinate is then None, and the program takes it for zero. What is
asked of parameters may be cut on purpose: one task's loss need not train them.
"""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.cuts import attached
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradient_cuts.classifier import Cut, cause_of, is_cut, is_origin
from autograd_inspector.analysis.gradient_cuts.leaves_above import Leaves
from autograd_inspector.analysis.gradients.asked_in_part import answered_in_part
from autograd_inspector.analysis.op_kinds import spelled
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import join_names

_BY_HAND = ("detached", "no_grad", "inference_mode", "left autograd")


def cut_from_inputs(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that asks."""
    told = set[int]()
    leaves = Leaves(analysis.capture, analysis.flow)
    for run in answered_in_part(analysis.capture):
        if run.site in told:
            continue
        for tensor in _inputs_missed(analysis, run):
            cut = _cut(analysis, leaves, run, tensor)
            if cut is not None:
                told.add(run.site)
                yield _problem(analysis, run, tensor, cut)
                break


def _inputs_missed(analysis: Analysis, run: Backward) -> Iterator[int]:
    """What was asked for, is a leaf and no parameter, and lies outside the graph."""
    capture, inside = analysis.capture, analysis.leaves.of(run.graph.roots)
    for tensor in run.reached:
        learned = capture.tensors[tensor].kind == "parameter" or tensor in capture.optimized
        if not learned and tensor not in inside and is_origin(capture, tensor):
            yield tensor


def _cut(analysis: Analysis, leaves: Leaves, run: Backward, tensor: int) -> Cut | None:
    """The cut between what is differentiated and the tensor, the one nearest to what is differentiated."""
    capture = analysis.capture
    starts = [(root, run.start) for root in run.roots]
    for op, through in analysis.flow.upstream(starts, lambda op, through: not is_cut(capture, op, through)):
        if is_cut(capture, op, through) and cause_of(capture, op, through) in _BY_HAND and tensor in leaves.above(op):
            return op, through
    return None


def _problem(analysis: Analysis, run: Backward, tensor: int, found: Cut) -> Problem:
    cut, through = found
    name, roots = name_of(analysis, tensor), join_names((name_of(analysis, root) for root in run.roots), 2)
    how = spelled(cut.name)
    return Problem(
        "warning",
        f"torch.autograd.grad does not find {name} in the graph of {roots}, and returns None: {how} cuts {name} off on the "
        "way",
        f"Use {name} with its graph where {how} cuts it off: the derivative is missing, and is not zero.",
        analysis.places((cut, "cut here"), (run, "gradient requested here")),
        (name,),
        ops=(cut.index,),
        cures=tuple(attached(analysis, [cut])) if cause_of(analysis.capture, cut, through) == "detached" else (),
    )
