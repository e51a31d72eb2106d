"""What the loss of a rank is, where ranks reduce gradients."""

from __future__ import annotations

from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op


def mean_as_it_is(capture: Capture, run: Backward) -> bool:
    """Whether a backward starts from a mean: the op that made it takes one, and no other scaled what it gave."""
    births = {capture.tensors[root].birth for root in run.roots}
    ops = [capture.ops[birth] for birth in births if birth >= 0]
    return bool(ops) and not run.weights and all(map(is_mean, ops))


def is_mean(op: Op) -> bool:
    """Whether an op takes a mean, or computes a loss that is one."""
    return op.name == "mean" or op.name.endswith("loss") or op.name == "cross_entropy"
