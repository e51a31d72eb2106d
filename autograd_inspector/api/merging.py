"""Reports of several processes, brought here as data, as one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.api.rank_parts import part_of
from autograd_inspector.api.ranks import RanksReport, ranks_report, with_reports
from autograd_inspector.api.report import Report

MOST_RANKS = 100_000
"""A larger number in a file's name is a date or a step, and a larger world size is none."""


def merge_reports(reports: Iterable[Report | str | bytes] | Mapping[int, Report | str | bytes]) -> RanksReport:
    """One report of those of several ranks, each a Report or its JSON: of ipyparallel's engines, of files.

    A report's rank is its key, else what it says itself, else its place. Raises ValueError in one line for none, and
    for two of one rank; ReportFormatError for JSON that is no report.
    """
    given = list(reports.items()) if isinstance(reports, Mapping) else list(enumerate(reports))
    read = [(rank, one if isinstance(one, ReportData) else Report.from_json(one)) for rank, one in given]
    own = [report.capture.rank for _, report in read]
    if not isinstance(reports, Mapping) and min(own, default=-1) >= 0:
        read = [(report.capture.rank, report) for _, report in read]
    of_rank = dict(sorted(read))
    if not of_rank or len(of_rank) < len(read):
        raise ValueError(
            "merge_reports: two reports come from the same rank" if read else "merge_reports: no reports were passed"
        )
    sizes = [report.capture.world_size for report in of_rank.values() if report.capture.world_size <= MOST_RANKS]
    ranks = sorted({*of_rank, *range(max(sizes, default=0))})
    return with_reports(ranks_report({r: part_of(of_rank[r]) if r in of_rank else None for r in ranks}), of_rank)
