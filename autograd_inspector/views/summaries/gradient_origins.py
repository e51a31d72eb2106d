"""The origin of a gradient in words: "from `d_loss` (train.py:31) and `g_loss` (train.py:40), not cleared between"."""

from __future__ import annotations

from autograd_inspector.analysis.gradients.origins import GradientOrigin, Loss
from autograd_inspector.model.capture import Capture

_NAMED = 4
"""So many losses are named."""


def in_words(capture: Capture, origin: GradientOrigin) -> str:
    """All of it."""
    if not origin.losses:
        return "assigned by the program"
    note = remark(origin)
    return f"from {_together([_with_place(capture, loss) for loss in origin.losses])}" + (f", {note}" if note else "")


def remark(origin: GradientOrigin) -> str:
    """What is to be said beside the losses; "" where one loss filled an empty gradient."""
    parts = {"older": ["added to an older gradient"], "assigned": ["added to what the program had assigned"]}
    several = sum(loss.times for loss in origin.losses) > 1
    return ", ".join([*parts.get(origin.added_to, []), *(["not cleared between"] if several else [])])


def loss_name(loss: Loss) -> str:
    """How a loss is called, and how often its gradient was added."""
    name = f"`{loss.name}`" if loss.name else "a loss"
    return f"{name} ×{loss.times}" if loss.times > 1 else name


def _with_place(capture: Capture, loss: Loss) -> str:
    place = capture.place(loss.site)
    name = f"`{loss.name}`" if loss.name else "a loss"
    said = name if place is None else f"{name} ({place.place})"
    return f"{said} ×{loss.times}" if loss.times > 1 else said


def _together(names: list[str]) -> str:
    """``a, b and c``, or ``a, b and 3 more``."""
    first = names if len(names) <= _NAMED else [*names[: _NAMED - 1], f"{len(names) - _NAMED + 1:,} more"]
    return " and ".join(filter(None, [", ".join(first[:-1]), first[-1]]))
