"""Parameters that other losses reach, and the losses of their own optimizer do not: they never move."""

from __future__ import annotations

from autograd_inspector.analysis.gradient_cuts.harmful import stepped_with
from autograd_inspector.model.capture import Capture


def unserved(capture: Capture) -> frozenset[int]:
    """Those that had no gradient at any step, and that no backward reached which such a step came after.

    A critic's layer that its own loss is cut off from gets a gradient from the actor's loss, which is cleared again.
    """
    if capture.history.folded:
        return frozenset()
    never: dict[int, bool] = {}
    for step in capture.steps:
        for parameter in () if step.closure or step.error else step.parameters:
            never[parameter.tensor] = never.get(parameter.tensor, True) and parameter.gradient < 0
    left = {tensor for tensor, without in never.items() if without}
    served: set[int] = set()
    for run in capture.backwards if left else ():
        if run.completed and run.nested_in < 0:
            own = {tensor for group in stepped_with(capture, run) for tensor in group} & left
            served |= own
            left -= own.intersection(run.reached).difference(run.empty)
    return frozenset(left & served)
