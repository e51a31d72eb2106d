"""Whether a library accumulates gradients when an optimizer steps, as far as that library says."""

from __future__ import annotations

import sys
from typing import NamedTuple

_STATE = "accelerate.state"


class Accumulation(NamedTuple):
    """``steps`` micro-batches serve one step of an optimizer; ``due``: this is the last of them."""

    steps: int
    due: bool


def accumulation() -> Accumulation | None:
    """What accelerate's state tells; None where it is not there, or accumulates nothing.

    The entries of its table are read: nothing of it runs.
    """
    module = sys.modules.get(_STATE)
    kind = None if module is None else module.__dict__.get("GradientState")
    shared = kind.__dict__.get("_shared_state") if isinstance(kind, type) else None
    if not isinstance(shared, dict):
        return None
    due, given = dict.get(shared, "sync_gradients"), dict.get(shared, "plugin_kwargs")
    steps = dict.get(given, "num_steps", 1) if isinstance(given, dict) else 1
    return Accumulation(steps, due) if type(steps) is int and steps > 1 and type(due) is bool else None
