"""What follows from a new value that a statement dropped: who goes on with the old one, and what learns by nothing else."""

from __future__ import annotations

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradient_cuts.leaves_above import Leaves
from autograd_inspector.model.op import Trait
from autograd_inspector.model.program_events import ResultDiscarded


def goes_on_without(analysis: Analysis, event: ResultDiscarded) -> bool:
    """Whether the program computes a loss with the old value, after the new one was made and dropped."""
    capture, owner = analysis.capture, event.tensors[-1]
    is_loss = any(owner in run.roots for run in capture.backwards if run.start > event.at)
    return (is_loss or _trained_with(analysis, owner, event.at)) and bool(capture.completed_runs or capture.error)


def _trained_with(analysis: Analysis, owner: int, since: int) -> bool:
    """Whether autograd records a call that is given it since then, or what was computed of it: it may need no gradient."""
    capture, todo, seen = analysis.capture, [owner], {owner}
    for tensor in todo:
        for index in capture.readers.get(tensor, ()):
            op = capture.ops[index]
            if index <= since or op.has(Trait.BACKWARD | Trait.STEP):
                continue
            if op.recorded:
                return True
            made = [each for each in op.outputs if each not in seen]
            todo += made
            seen.update(made)
    return False


def starved_by(analysis: Analysis, event: ResultDiscarded) -> tuple[int, ...]:
    """The parameters that are meant to learn, take part in what was dropped, and get no gradient at all."""
    above = Leaves(analysis.capture, analysis.flow).above(analysis.capture.ops[event.at])
    return tuple(tensor for tensor in above if tensor in analysis.without_gradient)
