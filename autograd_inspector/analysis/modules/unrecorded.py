"""Module calls that used a parameter and of which autograd recorded nothing."""

from __future__ import annotations

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.op import Op, Trait

_OTHERWISE = Trait.STEP | Trait.BACKWARD | Trait.EXPORT | Trait.ALIAS


def unrecorded(analysis: Analysis, tensor: int) -> tuple[Op, ...]:
    """The ops of forwards that computed with a parameter, where they recorded none of it; () where one of them did.

    What initialises or copies it is none of them. Of a frozen parameter nothing is recorded, whatever else is.
    """
    ops = [analysis.capture.ops[index] for index in analysis.capture.readers.get(tensor, ())]
    mine = [op for op in ops if op.call >= 0 and op.outputs and not op.writes and not op.has(_OTHERWISE)]
    recorded = (op.recorded and analysis.lifecycle.requires_grad_at(tensor, op.index) for op in mine)
    return () if any(recorded) else tuple(mine)
