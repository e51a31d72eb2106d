"""Tied parameters that were frozen under one of their names, while the module of the other name goes on learning."""

from __future__ import annotations

from collections.abc import Mapping

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.event import RequiresGradChanged


def frozen_with_their_twins(analysis: Analysis) -> Mapping[int, dict[int, tuple[list[str], list[str]]]]:
    """Site -> parameter -> (its names in modules that learn, those in modules that are frozen)."""
    capture = analysis.capture
    found: dict[int, dict[int, tuple[list[str], list[str]]]] = {}
    for change in capture.requires_grad_changes if capture.steps else ():
        record = capture.tensors[change.tensor]
        if change.requires_grad or record.requires_grad or len(record.names) < _TIED:
            continue
        by_module = {
            name: _siblings_learn(analysis, name, change) and not _frozen_under(analysis, name, change)
            for name in record.names
        }
        learning, frozen = (
            [capture.display_names.registered(name) for name, learns in by_module.items() if learns is wanted]
            for wanted in (True, False)
        )
        told = any(change.tensor in tensors for tensors in found.values())
        if learning and frozen and not told:
            found.setdefault(change.site, {})[change.tensor] = learning, frozen
    return found


_TIED = 2
"""Names of a parameter that is registered in two places."""


def _siblings_learn(analysis: Analysis, name: str, change: RequiresGradChanged) -> bool:
    """Whether parameters of the same outer module still require grad and are optimized."""
    outer = name.split(".", maxsplit=1)[0] + "."
    return any(
        record.requires_grad and record.id != change.tensor and record.id in analysis.capture.optimized
        for record in analysis.capture.tensors
        for other in record.names
        if other.startswith(outer)
    )


def _frozen_under(analysis: Analysis, name: str, change: RequiresGradChanged) -> bool:
    """Whether what froze it froze others of that name's module, which have no other name: it went through this one too."""
    outer = name.split(".", maxsplit=1)[0] + "."
    return any(
        other.site == change.site
        and other.tensor != change.tensor
        and not other.requires_grad
        and names[0].startswith(outer)
        for other in analysis.capture.requires_grad_changes
        if len(names := analysis.capture.tensors[other.tensor].names) == 1
    )
