"""Where gradients came from, for the wire."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.gradients.origins import GradientOrigin
from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.model.wording import counted
from autograd_inspector.views import wire
from autograd_inspector.views.summaries.gradient_origins import loss_name, remark
from autograd_inspector.views.tables.columns import legible

_LOSSES = 12
"""So many are sent of one gradient."""


def origins_of(report: ReportData) -> Iterator[wire.GradientOrigin]:
    """One record for all rows of the placement whose gradients have the same origin."""
    rows: dict[GradientOrigin, list[int]] = {}
    for number, row in enumerate(report.placement.rows):
        origin = report.gradient_origins.get(row.tensor)
        if origin is not None:
            rows.setdefault(origin, []).append(number)
    for origin, members in rows.items():
        losses = tuple(wire.Loss(legible(loss_name(loss)), loss.site) for loss in origin.losses[:_LOSSES])
        yield wire.GradientOrigin(tuple(members), losses, _remark(origin))


def _remark(origin: GradientOrigin) -> str:
    if not origin.losses:
        return "assigned by the program"
    more = len(origin.losses) - _LOSSES
    others = f"and {counted(more, 'other loss', 'other losses')}" if more > 0 else ""
    return ", ".join(filter(None, [others, remark(origin)]))
