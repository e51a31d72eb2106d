"""A column of values as one line of text."""

from __future__ import annotations

from autograd_inspector.model.steps_history import Runs
from autograd_inspector.views.summaries.steps import extremes
from autograd_inspector.views.summaries.telling import LEVELS

LONGEST = 40
"""Columns."""


def sparkline(values: Runs, width: int = LONGEST) -> str:
    """The values over the steps, lowest to highest, in so many columns; "" where they are all alike."""
    low, high = min(values.values, default=0), max(values.values, default=0)
    if low == high:
        return ""
    scale = (len(LEVELS) - 1) / (high - low)
    return "".join(LEVELS[round((value - low) * scale)] for _, value in extremes(values, width))
