"""AG201 where what was saved is a view with a name of its own (``step = outputs[:, t]``), and its memory is written to."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import SavedTensor
from autograd_inspector.model.op import Op
from autograd_inspector.model.remedy import Operand, Remedies


def taken_as_view(analysis: Analysis, saved: SavedTensor, edits: list[Op]) -> Op | None:
    """What took the view; None where the view itself is written to, or is none."""
    made = analysis.flow.birth(saved.tensor) if saved.tensor >= 0 else None
    written = {write.tensor for op in edits for write in op.writes}
    return made if made is not None and is_a(made.name, OpKind.VIEWS) and saved.tensor not in written else None


def copied(analysis: Analysis, saved: SavedTensor, edits: list[Op]) -> Iterator[Remedies]:
    """A copy of the part in place of a view, where nobody reads the view after the memory has other values."""
    view = taken_as_view(analysis, saved, edits)
    place = analysis.capture.place(view.site) if view is not None else None
    if view is None or place is None or place.library or not place.assigned or not edits:
        return
    first = min(op.index for op in edits)
    if all(index < first for index in analysis.capture.readers.get(saved.tensor, ())):
        yield (Operand(place, "whole", "{}.clone()"),)
