"""Reentrant checkpoints above a loss, and the parameters that were used in them."""

from __future__ import annotations

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradient_cuts.classifier import GradientCut
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.torch_names import CHECKPOINT


def within_checkpoint(analysis: Analysis, cut: GradientCut) -> bool:
    """Whether checkpointing itself switched the grad mode off where a cut is."""
    return analysis.capture.regions[cut.ops[0].region].library == "torch.utils.checkpoint"


def reentrant_checkpoint(analysis: Analysis, run: Backward) -> Op | None:
    """A reentrant checkpoint above the loss whose inputs did not require grad while its parameters did."""
    checkpoint_op = None
    for op, _ in analysis.flow.upstream([(root, run.start) for root in run.roots]):
        if op.name == CHECKPOINT and parameters_inside(analysis, op):
            checkpoint_op = op
    return checkpoint_op


def parameters_inside(analysis: Analysis, checkpoint: Op) -> list[int]:
    """The parameters that require grad and were used inside a reentrant checkpoint's forward."""
    tensors = analysis.capture.tensors
    parameters: dict[int, None] = {}
    for op in reversed(analysis.capture.ops[: checkpoint.index]):
        if not op.has(Trait.INNER):
            break
        parameters |= dict.fromkeys(t for t in op.inputs if tensors[t].kind == "parameter" and tensors[t].requires_grad)
    return list(reversed(parameters))
