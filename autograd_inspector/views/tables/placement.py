"""The placement as tables of the wire."""

from __future__ import annotations

from typing import Any

from autograd_inspector.model.capture import Capture
from autograd_inspector.views import wire
from autograd_inspector.views.tables.columns import Columns
from autograd_inspector.views.tables.events import arrived_in


def placement_tables(capture: Capture, columns: Columns) -> dict[str, Any]:
    """Parameters and their optimizer state."""
    placement, arrived = capture.placement, arrived_in(capture)
    number, text, shape = columns.numbers, columns.texts, columns.shapes
    rows = placement.rows
    gradients = [row.gradient for row in rows]
    state = [entry for row in rows for entry in row.state]
    return {
        "parameters": wire.Parameters(
            tensor=number([row.tensor for row in rows]),
            name=text(row.name or "?" for row in rows),
            model=text(row.model for row in rows),
            shape=shape(row.shape for row in rows),
            dtype=text(row.dtype for row in rows),
            device=text(row.device for row in rows),
            nbytes=number([row.nbytes for row in rows]),
            requires_grad=number([int(row.requires_grad) for row in rows]),
            reached=number([int(row.tensor in arrived) for row in rows]),
            standing=text(placement.standing(row) for row in rows),
            optimizer=number([row.optimizer for row in rows]),
            group=number([row.group for row in rows]),
            grad_shape=shape(None if g is None else g.shape for g in gradients),
            grad_dtype=text(None if g is None else g.dtype for g in gradients),
            grad_device=text(None if g is None else g.device for g in gradients),
            grad_nbytes=number([-1 if g is None else g.nbytes for g in gradients]),
            state=number([len(row.state) for row in rows]),
        ),
        "state": wire.State(
            name=text(e.name for e in state),
            shape=shape(e.shape for e in state),
            dtype=text(e.dtype for e in state),
            device=text(e.device for e in state),
            nbytes=number([e.nbytes for e in state]),
        ),
    }
