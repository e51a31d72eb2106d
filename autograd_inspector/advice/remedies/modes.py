"""Modules that are trained in training mode."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.callers import called_on, callee
from autograd_inspector.model.remedy import Insert, Remedies


def in_training_mode(analysis: Analysis, switched: int, trained: int) -> Iterator[Remedies]:
    """What was put into eval mode at one site is in training mode again before the call at the other one."""
    name, place = called_on(analysis.capture.place(switched), "eval"), analysis.capture.place(trained)
    if place is None:
        return
    if name:
        yield (Insert(place, f"{name}.train()"),)
    called = callee(place)
    if called:
        yield (Insert(place, f"{called}.train()"),)
