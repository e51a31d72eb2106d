"""A whole report."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from autograd_inspector.views.version_1.events import of_changes
from autograd_inspector.views.version_1.graphs import of_graphs
from autograd_inspector.views.version_1.settings import of_settings
from autograd_inspector.views.version_1.steps import of_steps

_RENAMED = MappingProxyType(
    {
        "leaf_changes": "requires_grad_changes",
        "exchanges": "replacements",
        "returns": "scalar_reentries",
        "gaps": "none_gradients",
        "kept": "retained_graphs",
    }
)
"""Columns of a capture that have had another name."""
_UNREADABLE = (LookupError, TypeError, AttributeError)


def of_version_1(report: Any) -> Any:
    """The report in the present version. Raises ValueError where that cannot be made of it."""
    try:
        old = report["capture"]
        kept = {_RENAMED.get(name, name): value for name, value in old.items() if name != "changes"}
        graphs = of_graphs(old)
    except _UNREADABLE as error:
        raise ValueError(f"the graphs of its runs are not to be read: {error!r}") from None
    try:
        beside = of_changes(old) | of_steps(old) | of_settings(old)
    except _UNREADABLE as error:
        raise ValueError(f"its optimizers, or what happened to them, are not to be read: {error!r}") from None
    return report | {"capture": kept | graphs | beside, "schema": 2}
