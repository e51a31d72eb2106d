"""The reports of several ranks as one: what ``Report.gather()`` and ``autograd-inspect merge`` give."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Raw, json

from autograd_inspector.analysis.across_ranks import placement_of_ranks
from autograd_inspector.analysis.ranks.lanes import lanes_of
from autograd_inspector.analysis.ranks.vitals import merged_vitals
from autograd_inspector.analysis.ranks_data import (
    RANKS_SCHEMA,
    RanksData,
    ReportOfRank,
    most_telling,
    reports_of_ranks,
    sameness,
)
from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.api.rank_parts import PartReader, RankPart, part_of
from autograd_inspector.model.finding import SEVERITIES, Finding
from autograd_inspector.model.ranks import RankedFinding
from autograd_inspector.model.rule_page import page_of
from autograd_inspector.model.sound import fault_in_ranks
from autograd_inspector.rules import CATALOGUE, findings_across
from autograd_inspector.views.archive import decode, encode
from autograd_inspector.views.whole import write_whole

if TYPE_CHECKING:
    from autograd_inspector.kernel.widget import ReportWidget


class RanksReport(RanksData, frozen=True, dict=True):
    """One report of all ranks: ``placement`` has a column a rank, ``findings`` say which ranks have them.

    ``vitals``: the statistics over the steps, of all ranks together.
    ``lanes`` have what each rank did with the others, in order, once for all ranks that did the same.
    """

    @property
    def reports(self) -> dict[int, ReportData]:
        """The reports that were merged, by rank, as far as they are in this process; none in what JSON brought."""
        kept: dict[int, ReportData] = self.__dict__.get("_reports", {})
        return kept

    @cached_property
    def _of_ranks(self) -> dict[int, ReportOfRank]:
        rules = dict.fromkeys(each.finding.rule for each in self.findings)
        pages = tuple(page_of(rule, CATALOGUE[rule].page) for rule in rules if rule in CATALOGUE)
        return reports_of_ranks(self, self.reports, pages)

    def of_rank(self, rank: int) -> ReportOfRank:
        """What the widget shows of one rank: its capture, under the findings of all; KeyError where it is not here."""
        return self._of_ranks[rank]

    def widget(self) -> ReportWidget:
        """The interactive widget, with a switch for each rank whose report is here.

        Raises WidgetNotBuiltError in a checkout whose widget was not built.
        """
        from autograd_inspector.kernel.widget import ReportWidget

        return ReportWidget(most_telling(self._of_ranks))

    def to_text(self, *, width: int = 100, color: bool = False) -> str:
        """Everything, as text; ``color`` for a terminal that shows ANSI colours."""
        from autograd_inspector.views.text.ranks import ranks_text

        return ranks_text(self.placement, self.findings, self.notes, self.lanes, self.vitals, width=width, color=color)

    def to_html(self, path: str | os.PathLike[str] | None = None, *, interactive: bool = False) -> str:
        """Everything as one static HTML page, also written to ``path``; ``interactive``: with the widget in it.

        Raises WidgetNotBuiltError for an interactive page in a checkout whose widget was not built.
        """
        if interactive:
            from autograd_inspector.views.html.page import to_interactive_html

            page = to_interactive_html(most_telling(self._of_ranks))
        else:
            from autograd_inspector.views.html.ranks import ranks_html

            page = ranks_html(self.placement, self.findings, self.notes, self.lanes, self.vitals)
        if path is not None:
            write_whole(Path(path), page)
        return page

    def to_json(self) -> str:
        """Everything, as JSON that :meth:`from_json` reads."""
        return encode(self)

    @classmethod
    def from_json(cls, text: str | bytes) -> RanksReport:
        """The report in JSON text; raises ReportFormatError for any other text or schema version."""
        return decode(text, cls, RANKS_SCHEMA, lambda report: fault_in_ranks(report.placement))

    def to_dataframe(self) -> Any:
        """A pandas.DataFrame with one line a parameter; raises ImportError when pandas is not installed."""
        return self.placement.to_dataframe()

    def __repr__(self) -> str:
        from autograd_inspector.views.summaries.ranks import headline

        return f"<RanksReport: {headline(self.placement, self.findings)}>"

    def _ipython_display_(self) -> None:
        """As the outputs of a notebook cell: what any viewer shows, and below it the widget; see ``Report``."""
        from autograd_inspector.kernel.display import display_apart
        from autograd_inspector.kernel.shell import shell_in_kernel

        if shell_in_kernel() is None:
            raise NotImplementedError
        display_apart(self._repr_mimebundle_())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        from autograd_inspector.kernel.display import terminal, view_of
        from autograd_inspector.views.notebook.bundle import chosen

        shown = terminal()
        if shown is not None:
            return chosen({"text/plain": self.to_text(width=shown.width, color=shown.color)}, include, exclude)
        from autograd_inspector.views.html.ranks import ranks_output
        from autograd_inspector.views.notebook.saved import CAPTURE, saved
        from autograd_inspector.views.text.kept import kept_text

        first = most_telling(self._of_ranks)
        bundle = {
            **view_of(first),
            "text/plain": kept_text(self.to_text),
            "text/html": ranks_output(self.placement, self.findings, self.notes, self.lanes),
            CAPTURE: saved(first),
        }
        return chosen(bundle, include, exclude)


def with_reports(merged: RanksReport, reports: Mapping[int, ReportData]) -> RanksReport:
    """The same, which keeps the reports that it was made of."""
    merged.__dict__["_reports"] = dict(reports)
    return merged


def ranks_report(parts: Mapping[int, RankPart | None], notes: tuple[str, ...] = ()) -> RanksReport:
    """One report of those of some ranks; None stands for a rank that reported nothing."""
    ranks: dict[tuple[object, ...], list[int]] = {}
    findings: dict[tuple[object, ...], Finding] = {}
    for rank in sorted(parts):
        part = parts[rank]
        for finding in part.findings if part is not None else ():
            key = sameness(finding)
            findings.setdefault(key, finding)
            if rank not in ranks.setdefault(key, []):
                ranks[key].append(rank)
    placements = {rank: part.placement if part is not None else None for rank, part in parts.items()}
    raised = tuple(f"rank {r}: the program raised {p.error}" for r, p in parts.items() if p is not None and p.error)
    totals = {rank: part.total for rank, part in parts.items() if part is not None and part.total is not None}
    placement = placement_of_ranks(placements, totals)
    summaries = {rank: part.summary for rank, part in parts.items() if part is not None}
    across, failed = findings_across(summaries, placement, findings.values())
    own = (RankedFinding(finding, tuple(ranks[key])) for key, finding in findings.items())
    ordered = sorted((*across, *own), key=lambda each: SEVERITIES.index(each.finding.severity))
    vitals = merged_vitals({rank: part.vitals for rank, part in parts.items() if part is not None})
    lanes = lanes_of({rank: part.summary if part is not None else None for rank, part in parts.items()})
    return RanksReport(placement, tuple(ordered), (*notes, *raised, *failed), lanes=lanes, vitals=vitals)


def merged_parts(parts: Mapping[int, bytes | None]) -> RanksReport:
    """One report of what ranks sent, None for one that sent nothing; what several tell alike is kept once."""
    reader = PartReader()
    read = {}
    for rank in sorted(parts):
        data = parts[rank]
        read[rank] = None if data is None else reader.read(data)
    return ranks_report(read)


def left_behind(
    report: ReportData, *, timeout: float, hurry: Callable[[], bool] = lambda: False, name: str = "ended"
) -> RanksReport | None:
    """On rank 0 the report of all ranks whose programs have ended; None on the others, and where they cannot meet.

    ``name``: of what has ended, where that is not the program; the same on all ranks.
    """
    from autograd_inspector.capture.gathering import left_behind as collected

    capture = report.capture
    if capture.rank < 0 or capture.world_size <= 1:
        return None
    part = encode(part_of(report)).encode()
    parts = collected(part, rank=capture.rank, world=capture.world_size, timeout=timeout, hurry=hurry, name=name)
    if parts is None:
        return None
    return with_reports(merged_parts(parts), {capture.rank: report})


def gather(
    report: ReportData, *, timeout: float, group: Any, read: Callable[[bytes], ReportData] | None = None
) -> RanksReport:
    """The report of all ranks, on each of them; see ``Report.gather``. ``read``: whole reports come along, as JSON."""
    from autograd_inspector.capture.gathering import exchange

    def merge(parts: Mapping[int, bytes]) -> bytes:
        return merged_parts(parts).to_json().encode()

    merged = RanksReport.from_json(exchange(encode(part_of(report)).encode(), merge, timeout=timeout, group=group))
    own = {max(report.capture.rank, 0): report}
    if read is None:
        return with_reports(merged, own)
    whole = exchange(encode(report).encode(), _as_one, timeout=timeout, group=group)
    told = json.decode(whole, type=dict[str, Raw])
    others = {int(rank): read(bytes(text)) for rank, text in told.items() if int(rank) not in own}
    return with_reports(merged, dict(sorted({**others, **own}.items())))


def _as_one(reports: Mapping[int, bytes]) -> bytes:
    """The JSON of several reports in one."""
    return json.encode({str(rank): Raw(text) for rank, text in reports.items()})
