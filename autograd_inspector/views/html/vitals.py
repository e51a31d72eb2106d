"""The vitals on a static page: the most telling rows as a table, each with its line over the steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from autograd_inspector.model.vitals import Vitals
from autograd_inspector.model.wording import counted
from autograd_inspector.views.markup import Markup, element
from autograd_inspector.views.summaries.telling import telling_rows

_HEADERS = ("what", "where", "first → last", "over the steps")


def vitals_part(vitals: Vitals, models: Sequence[str] = (), more: Iterable[str] = ()) -> list[Markup]:
    """Nothing where nothing was measured; ``more`` are lines below the table."""
    telling = telling_rows(vitals, models)
    if telling is None:
        return []
    head = element("tr", *[element("th", header) for header in _HEADERS])
    rows = [
        element("tr", *[element("td", text) for text in (row.title, row.label, row.said)], _line(row.line))
        for row in telling.rows
    ]
    rest = [f"… and {counted(telling.rest, 'row')} more: report.vitals.to_dataframe()"] if telling.rest else []
    return [
        element("h2", "Vitals"),
        element("p", telling.span, class_="ags-quiet"),
        element("div", element("table", head, *rows), class_="placement"),
        *[element("p", text, class_="ags-quiet") for text in (*rest, *more)],
    ]


def _line(blocks: str) -> Markup:
    """A reader hears the first and the last value, which stand beside it."""
    return element("td", element("code", blocks, **{"aria-hidden": "true"}))
