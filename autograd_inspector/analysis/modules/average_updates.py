"""What mixes trained parameters into averages of them, op by op."""

from __future__ import annotations

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.shared_averages import mixed_in
from autograd_inspector.model.op import Op, Trait

_ASIDE = Trait.STEP | Trait.BACKWARD


class AverageUpdate(Struct, frozen=True):
    """``op`` mixed ``parameter`` into ``average``."""

    op: Op
    average: int
    parameter: int


def average_updates(analysis: Analysis, moved: set[int]) -> dict[int, list[AverageUpdate]]:
    """Memory of an average -> what mixed a parameter into it, in program order."""
    tensors = analysis.capture.tensors
    own, found = {tensors[tensor].storage for tensor in moved}, dict[int, list[AverageUpdate]]()
    for op in analysis.capture.ops:
        for write in op.writes if not op.has(_ASIDE) and not op.recorded else ():
            if write.storage not in own:
                for source in mixed_in(analysis, op, write, moved):
                    found.setdefault(write.storage, []).append(AverageUpdate(op, write.tensor, source))
    return found
