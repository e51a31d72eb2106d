"""What the function of a reentrant checkpoint leaves somewhere, beside what it returns: it has no graph.

Such a checkpoint runs the function without recording and gives a graph to what it returns alone.
"""

from __future__ import annotations

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradient_cuts.classifier import GradientCut
from autograd_inspector.model.op import Op
from autograd_inspector.model.torch_names import CHECKPOINT

_RUNS = "torch.utils.checkpoint"


def checkpoint_left(analysis: Analysis, cut: GradientCut) -> Op | None:
    """The checkpoint inside which a cut lies whose result has a graph, while the cut's went another way."""
    capture, first = analysis.capture, cut.ops[0]
    if capture.regions[first.region].library != _RUNS:
        return None
    around = next((op for op in capture.ops[first.index :] if op.name == CHECKPOINT), None)
    if around is None or not any(capture.tensors[tensor].requires_grad for tensor in around.outputs):
        return None
    return None if set(cut.through) <= set(around.outputs) else around
