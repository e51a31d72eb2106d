"""Gradients that an optimizer keeps in its state itself, without a copy."""

from __future__ import annotations

from collections.abc import Mapping

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.placement_rows import ParameterRow


def gradients_in_state(analysis: Analysis) -> Mapping[tuple[int, str], list[int]]:
    """(optimizer, entry of its state) -> the parameters whose gradient, which served two steps at least, lies in it."""
    capture = analysis.capture
    served: dict[tuple[int, int], int] = {}
    """(parameter, gradient) -> how many steps met it."""
    for step in capture.steps:
        for parameter in step.parameters:
            key = parameter.tensor, parameter.gradient
            served[key] = served.get(key, 0) + 1
    shared: dict[tuple[int, str], list[int]] = {}
    for row in capture.placement.rows:
        again = any(served.get((row.tensor, gradient), 0) > 1 for gradient in analysis.gradients.get(row.tensor, ()))
        for name in _entries(row) if again and row.optimizer >= 0 else ():
            shared.setdefault((row.optimizer, name), []).append(row.tensor)
    return shared


def _entries(row: ParameterRow) -> list[str]:
    """The entries of its state that lie in the memory of its gradient."""
    gradient = row.gradient
    if gradient is None or gradient.storage < 0:
        return []
    return [entry.key for entry in row.state if entry.storage == gradient.storage and entry.nbytes == gradient.nbytes]
