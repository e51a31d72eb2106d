"""The report of several ranks as one static page."""

from __future__ import annotations

from collections.abc import Sequence

from autograd_inspector.model.ranks import RankedFinding, RankedPlacement, ranks_text
from autograd_inspector.views.display_text import shown
from autograd_inspector.views.html.finding import finding_section
from autograd_inspector.views.html.report import page_of
from autograd_inspector.views.markup import Markup, element, prose
from autograd_inspector.views.summaries.ranks import differences, headline, ranked_table, sums

_ROWS = 400
_COLUMNS = 64


def ranks_html(placement: RankedPlacement, findings: Sequence[RankedFinding], notes: Sequence[str]) -> str:
    """Findings with the ranks that have them, the table with a column a rank, where ranks differ, notes."""
    title = headline(placement, findings)
    body = [element("h1", "autograd inspector"), element("p", title, class_="ags-quiet")]
    for each in findings:
        body += [element("p", f"on {ranks_text(each.ranks)}", class_="ags-quiet"), finding_section(each.finding)]
    return page_of(title, *body, *_table(placement), *_notes(notes))


def _table(placement: RankedPlacement) -> list[Markup]:
    table = ranked_table(placement, _COLUMNS)
    if not table.rows:
        return [element("p", "no rank holds a parameter", class_="ags-quiet")]
    *rows, total = table.rows
    head = element("tr", *[element("th", shown(header)) for header in table.headers])
    lines = [element("tr", *[element("td", text) for text in row]) for row in [*rows[:_ROWS], total]]
    difference_items = [element("li", line, class_="ags-warning") for line in differences(placement)]
    return [
        element("h2", "Placement by rank"),
        element("p", sums(placement), class_="ags-quiet"),
        *([element("p", f"all of them: {table.common}", class_="ags-quiet")] if table.common else []),
        element("div", element("table", head, *lines), class_="placement"),
        *([element("ul", *difference_items, class_="marks")] if difference_items else []),
    ]


def _notes(notes: Sequence[str]) -> list[Markup]:
    return [element("h2", "Notes"), element("ul", *[element("li", prose(note)) for note in notes])] if notes else []
