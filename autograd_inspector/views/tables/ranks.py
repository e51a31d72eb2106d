"""Several ranks -> what the front end shows of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from autograd_inspector.analysis.ranks_data import ReportOfRank, worst_of
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.ranks import ranks_text
from autograd_inspector.model.wording import counted
from autograd_inspector.views.summaries.ranks import common_marks, differences, ranked_table, sums
from autograd_inspector.views.tables.columns import legible
from autograd_inspector.views.wire.ranks import RankChoice, RankLane, Ranks

_COLUMNS, _ROWS, _LANES, _MARKS, _LINES = 24, 200, 64, 80, 40


def wired_ranks(report: ReportOfRank) -> Ranks:
    """As many lanes, marks, rows and columns as one can look at."""
    placement, lanes = report.ranks.placement, report.ranks.lanes
    table = ranked_table(placement, _COLUMNS)
    rows = [*table.rows[:-1][:_ROWS], *table.rows[-1:]]
    told = any(lane.marks or lane.ending for lane in lanes)
    return Ranks(
        report.rank,
        tuple(_choices(report)),
        tuple(
            RankLane(legible(ranks), tuple(map(legible, marks)), legible(ending))
            for ranks, marks, ending in _lanes(report)
        )
        if told
        else (),
        common_marks(lanes),
        legible(". ".join(filter(None, [sums(placement), table.common and f"all of them: {table.common}"]))),
        tuple(map(legible, table.headers)) if rows else (),
        tuple(tuple(map(legible, row)) for row in rows),
        tuple(legible(line, 600) for line in islice(differences(placement), _LINES)),
    )


def _lanes(report: ReportOfRank) -> Iterator[tuple[str, list[str], str]]:
    for lane in report.ranks.lanes[:_LANES]:
        marks = [f"{text} ×{times}" if times > 1 else text for text, times in lane.marks]
        more = [f"… {len(marks) - _MARKS} more"] if len(marks) > _MARKS else []
        yield ranks_text(lane.ranks), [*marks[:_MARKS], *more], lane.ending


def _choices(report: ReportOfRank) -> Iterator[RankChoice]:
    placement = report.ranks.placement
    found: dict[int, list[Finding]] = {rank: [] for rank in (*placement.ranks, *placement.missing)}
    for each in report.ranks.findings:
        for rank in each.ranks:
            found.setdefault(rank, []).append(each.finding)
    endings = {rank: lane.ending for lane in report.ranks.lanes for rank in lane.ranks}
    for rank, own in sorted(found.items()):
        said = [counted(len(own), "finding") if own else "no findings", endings.get(rank, "")]
        if rank in placement.missing:
            said = ["no report"]
        yield RankChoice(rank, legible(" · ".join(filter(None, said))), worst_of(own), rank in report.others)
