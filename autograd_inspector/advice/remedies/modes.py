"""Modules that are trained in training mode."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.callers import called_on
from autograd_inspector.model.remedy import Insert, Remedies
from autograd_inspector.source.fragments import expression, is_path
from autograd_inspector.source.writing import written


def in_training_mode(analysis: Analysis, switched: int, trained: int) -> Iterator[Remedies]:
    """What was put into eval mode at one site is in training mode again before the call at the other one."""
    name, place = called_on(analysis.capture.place(switched), "eval"), analysis.capture.place(trained)
    if place is None:
        return
    if name:
        yield (Insert(place, f"{name}.train()"),)
    match expression(place.expression):
        case ast.Call(func=function) if is_path(function):
            yield (Insert(place, f"{written(function)}.train()"),)
