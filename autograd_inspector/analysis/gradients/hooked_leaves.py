"""Leaves whose gradient a hook has turned into zeros, or spoiled, although what came to it was sound."""

from __future__ import annotations

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.values import MOST_FAULTS, LeafValues


def by_hooks_alone(analysis: Analysis) -> dict[int, list[LeafValues]]:
    """Leaf with a hook -> its gradients, of the runs in which no node passed zeros or NaN on to it. Needs values.

    A factor that begins at zero explains the first run, not those after it has moved. Nothing, where there were more of
    these nodes than are kept.
    """
    capture = analysis.capture
    if len(capture.gradient_faults) >= MOST_FAULTS:
        return {}
    hooked = {hook.tensor for hook in capture.tensor_hooks if not hook.post}
    values = [value for value in capture.leaf_values if value.tensor in hooked]
    explained = (
        {(fault.backward, tensor) for fault in capture.gradient_faults for tensor in analysis.spoiled_below(fault)}
        if values
        else set()
    )
    left: dict[int, list[LeafValues]] = {}
    for value in values:
        if (value.backward, value.tensor) not in explained:
            left.setdefault(value.tensor, []).append(value)
    return left


def zeroed_by_hooks(analysis: Analysis) -> frozenset[int]:
    """Those that are zeros after each run."""
    moving = {value.tensor for value in analysis.capture.leaf_values if not value.zero}
    return frozenset(by_hooks_alone(analysis).keys() - moving)
