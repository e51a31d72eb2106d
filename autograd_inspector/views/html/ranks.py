"""The report of several ranks as one static page, and in the output of a notebook cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autograd_inspector.model.ranked_vitals import RankedVitals
from autograd_inspector.model.ranks import Lane, RankedFinding, RankedPlacement, ranks_text
from autograd_inspector.model.wording import counted
from autograd_inspector.views.display_text import shown, size
from autograd_inspector.views.html.finding import finding_section
from autograd_inspector.views.html.report import page_of
from autograd_inspector.views.html.style import sheet
from autograd_inspector.views.html.vitals import vitals_part
from autograd_inspector.views.markup import Markup, element, prose
from autograd_inspector.views.summaries.ranks import common_marks, differences, headline, peak_lines, ranked_table, sums

_ROWS = 400
_COLUMNS = 64
_SWITCHES = 64
_OPEN = 6


def ranks_html(
    placement: RankedPlacement,
    findings: Sequence[RankedFinding],
    notes: Sequence[str],
    lanes: Sequence[Lane],
    vitals: RankedVitals,
) -> str:
    """Findings with the ranks that have them, a lane and a column for each rank, where ranks differ, vitals, notes."""
    title = headline(placement, findings)
    body = [element("h1", "autograd inspector"), element("p", title, class_="ags-quiet"), *_found(findings)]
    return page_of(title, *body, *_lanes(lanes), *_table(placement), *_vitals(vitals), *_notes(notes))


def ranks_output(
    placement: RankedPlacement, findings: Sequence[RankedFinding], notes: Sequence[str], lanes: Sequence[Lane]
) -> str:
    """The same in the output of a cell: the findings, then what each rank has, folded."""
    heading = element("p", element("strong", "autograd inspector"), " ", element("span", headline(placement, findings)))
    parts = [heading, *_found(findings[:_OPEN])]
    if len(findings) > _OPEN:
        more = counted(len(findings) - _OPEN, "finding")
        parts.append(element("p", f"… and {more} more: ", element("code", "report.findings"), " has all"))
    parts += [*_by_rank(placement, findings, lanes), *_lanes(lanes), *_table(placement), *_notes(notes[:_OPEN])]
    style = element("style", sheet("finding.css"), sheet("output.css"), sheet("ranks.css"))
    return element("div", *parts, style, class_="agi-static") + "\n"


def _found(findings: Sequence[RankedFinding]) -> Iterator[Markup]:
    for each in findings:
        yield element("p", f"on {ranks_text(each.ranks)}", class_="ags-quiet")
        yield finding_section(each.finding)


def _by_rank(placement: RankedPlacement, findings: Sequence[RankedFinding], lanes: Sequence[Lane]) -> Iterator[Markup]:
    """A switch for each rank: its own findings, how its program ended, its bytes."""
    endings = {rank: lane.ending for lane in lanes for rank in lane.ranks}
    totals = dict(zip(placement.ranks, placement.totals, strict=False))
    for rank in range(min(placement.world_size, _SWITCHES)):
        own = [each.finding for each in findings if rank in each.ranks]
        title = [f"rank {rank}: {counted(len(own), 'finding')}", *filter(None, [endings.get(rank, "")])]
        lines = [element("li", f"{each.rule} {each.name}: ", prose(each.message)) for each in own]
        total = totals.get(rank)
        held = [element("li", f"holds {size(total.all)}")] if total is not None else []
        yield element("details", element("summary", " · ".join(title)), element("ul", *lines, *held), class_="agi-rank")


def _lanes(lanes: Sequence[Lane]) -> list[Markup]:
    """One row for each way that ranks took, a box for each call; those that all ranks begin with stay quiet."""
    if not any(lane.marks or lane.ending for lane in lanes):
        return []
    same = common_marks(lanes)
    rows = []
    for lane in lanes[:_COLUMNS]:
        boxes = [
            element(
                "span",
                f"{text} ×{times}" if times > 1 else text,
                class_="agi-mark" if at < same else "agi-mark agi-apart",
            )
            for at, (text, times) in enumerate(lane.marks)
        ]
        end = [element("span", lane.ending, class_="agi-mark ags-warning")] if lane.ending else []
        rows.append(element("tr", element("th", ranks_text(lane.ranks)), element("td", *boxes, *end)))
    return [
        element("h2", "Timeline by rank"),
        element("div", element("table", *rows, class_="agi-lanes"), class_="placement"),
    ]


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


def _vitals(vitals: RankedVitals) -> list[Markup]:
    return vitals_part(vitals.whole, more=peak_lines(vitals))


def _notes(notes: Sequence[str]) -> list[Markup]:
    return [element("h2", "Notes"), element("ul", *[element("li", prose(note)) for note in notes])] if notes else []
