"""What follows from a new value that a statement dropped: who goes on with the old one, and what learns by nothing else."""

from __future__ import annotations

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradient_cuts.leaves_above import Leaves
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import ResultDiscarded


def goes_on_without(analysis: Analysis, event: ResultDiscarded) -> bool:
    """Whether the program computes a loss with the old value, after the new one was made and dropped."""
    capture, owner = analysis.capture, event.tensors[-1]
    later = [capture.ops[index] for index in capture.readers.get(owner, ()) if index > event.at]
    is_loss = any(owner in run.roots for run in capture.backwards if run.start > event.at)
    return (is_loss or any(_trains(op) for op in later)) and bool(capture.completed_runs or capture.error)


def _trains(op: Op) -> bool:
    return op.recorded and not op.has(Trait.BACKWARD)


def starved_by(analysis: Analysis, event: ResultDiscarded) -> tuple[int, ...]:
    """The parameters that are meant to learn, take part in what was dropped, and get no gradient at all."""
    above = Leaves(analysis.capture, analysis.flow).above(analysis.capture.ops[event.at])
    return tuple(tensor for tensor in above if tensor in analysis.without_gradient)
