"""Leaves of an optimizer whose variable was bound to a tensor computed from them, round after round: ``a = a.clamp(0, 1)``.

The optimizer goes on with the leaf. What the program computes with is made by one line of the leaf first, and of that
line's own result from then on.
"""

from __future__ import annotations

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.op import Op

_MOST = 200


class Rebound(Struct, frozen=True):
    """``made`` read ``leaf``, in the place of which its line has put one result after another."""

    leaf: int
    made: Op


def rebound(analysis: Analysis, reader: Op) -> Rebound | None:
    """Whether an op's result has come to stand for a leaf; None where something else learns in it, or no line ran twice."""
    tensors, optimized = analysis.capture.tensors, analysis.capture.optimized
    if len(reader.outputs) != 1:
        return None
    tensor, chain = reader.outputs[0], list[Op]()
    while tensor not in optimized:
        made = analysis.flow.birth(tensor)
        learning = [] if made is None else [t for t in made.inputs if tensors[t].requires_grad]
        if made is None or len(learning) != 1 or tensors[learning[0]].shape != tensors[tensor].shape:
            return None
        if len(chain) == _MOST:
            return None
        chain.append(made)
        tensor = learning[0]
    stepped = [step.op for step in analysis.capture.steps if tensor in step.held]
    lines = [op.site for op in chain]
    again = len(set(lines)) < len(lines) and bool(stepped) and stepped[0] < chain[-1].index
    return Rebound(tensor, chain[-1]) if again else None
