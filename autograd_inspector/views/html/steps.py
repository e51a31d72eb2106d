"""The training steps on the static page: each figure with a small plot over the steps, and what changed."""

from __future__ import annotations

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.model.wording import counted
from autograd_inspector.views.markup import Markup, element, prose
from autograd_inspector.views.summaries.steps import Row, extremes, steps_of

_WIDTH, _HEIGHT, _MARGIN = 480, 36, 2
_POINTS = 240
_CHANGES = 64


def steps_section(report: ReportData) -> list[Markup]:
    """Nothing for a report of a step or two."""
    steps = steps_of(report)
    if steps is None:
        return []
    rows = [
        element("tr", element("td", row.label, class_="ags-quiet"), element("td", row.said), element("td", *_plot(row)))
        for row in steps.rows
    ]
    parts = [element("h2", "Steps"), element("p", steps.said), element("table", *rows, class_="steps")]
    changes = []
    for change in steps.changes[:_CHANGES]:
        place = report.capture.place(change.site)
        where = place.place if place else ""
        cells = (element("td", f"step {change.step:,}"), element("td", where), element("td", prose(change.said)))
        changes.append(element("tr", *cells))
    if changes:
        parts.append(element("table", *changes, class_="places"))
    more = len(steps.changes[_CHANGES:]) + steps.untold
    return [*parts, *([element("p", f"… and {counted(more, 'change')} more", class_="ags-quiet")] if more else [])]


def _plot(row: Row) -> list[Markup]:
    """A line over the steps, lowest value at the bottom; nothing where all are alike."""
    if not row.values:
        return []
    low, high = min(row.values.values), max(row.values.values)
    across = (_WIDTH - 2 * _MARGIN) / max(len(row.values) - 1, 1)
    up = (_HEIGHT - 2 * _MARGIN) / (high - low)
    points = [
        f"{_MARGIN + at * across:.1f},{_HEIGHT - _MARGIN - (value - low) * up:.1f}"
        for at, value in extremes(row.values, _POINTS)
    ]
    line = element("polyline", points=Markup(" ".join(points)))
    description = f"{row.label} over {counted(len(row.values), 'step')}: {row.said}"
    label = {"aria-label": description}
    return [element("svg", line, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img", class_="plot", **label)]
