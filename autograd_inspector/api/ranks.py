"""The reports of several ranks as one: what ``Report.gather()`` and ``autograd-inspect merge`` give."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from autograd_inspector.analysis.across_ranks import placement_of_ranks
from autograd_inspector.analysis.ranks.lanes import lanes_of
from autograd_inspector.analysis.ranks.vitals import merged_vitals
from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.api.rank_parts import SCHEMA, PartReader, RankPart, part_of
from autograd_inspector.model.finding import SEVERITIES, Finding
from autograd_inspector.model.ranked_vitals import RankedVitals
from autograd_inspector.model.ranks import Lane, RankedFinding, RankedPlacement
from autograd_inspector.model.sound import fault_in_ranks
from autograd_inspector.rules import findings_across
from autograd_inspector.views.archive import decode, encode
from autograd_inspector.views.whole import write_whole


class RanksReport(Struct, frozen=True):
    """One report of all ranks: ``placement`` has a column a rank, ``findings`` say which ranks have them.

    ``vitals``: the statistics over the steps, of all ranks together.
    ``lanes`` have what each rank did with the others, in order, once for all ranks that did the same.
    """

    placement: RankedPlacement
    findings: tuple[RankedFinding, ...] = ()
    notes: tuple[str, ...] = ()
    schema: int = SCHEMA
    vitals: RankedVitals = RankedVitals()
    lanes: tuple[Lane, ...] = ()

    def to_text(self, *, width: int = 100, color: bool = False) -> str:
        """Everything, as text; ``color`` for a terminal that shows ANSI colours."""
        from autograd_inspector.views.text.ranks import ranks_text

        return ranks_text(self.placement, self.findings, self.notes, self.lanes, self.vitals, width=width, color=color)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Everything as one static HTML page, also written to ``path``."""
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
        return decode(text, cls, SCHEMA, lambda report: fault_in_ranks(report.placement))

    def to_dataframe(self) -> Any:
        """A pandas.DataFrame with one line a parameter; raises ImportError when pandas is not installed."""
        return self.placement.to_dataframe()

    def __repr__(self) -> str:
        from autograd_inspector.views.summaries.ranks import headline

        return f"<RanksReport: {headline(self.placement, self.findings)}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from autograd_inspector.kernel.display import terminal

        shown = terminal()
        bundle = {"text/plain": self.to_text() if shown is None else self.to_text(width=shown.width, color=shown.color)}
        if shown is None:
            from autograd_inspector.views.html.ranks import ranks_output

            bundle["text/html"] = ranks_output(self.placement, self.findings, self.notes, self.lanes)
        wanted = set(bundle) if include is None else set(include)
        return {kind: data for kind, data in bundle.items() if kind in wanted - set(exclude or ())}


def ranks_report(parts: Mapping[int, RankPart | None], notes: tuple[str, ...] = ()) -> RanksReport:
    """One report of those of some ranks; None stands for a rank that reported nothing."""
    ranks: dict[str, list[int]] = {}
    findings: dict[str, Finding] = {}
    for rank in sorted(parts):
        part = parts[rank]
        for finding in part.findings if part is not None else ():
            key = encode(finding)
            findings.setdefault(key, finding)
            ranks.setdefault(key, []).append(rank)
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


def left_behind(report: ReportData, *, timeout: float, hurry: Callable[[], bool]) -> RanksReport | None:
    """On rank 0 the report of all ranks whose programs have ended; None on the others, and where they cannot meet."""
    from autograd_inspector.capture.gathering import left_behind as collected

    capture = report.capture
    if capture.rank < 0 or capture.world_size <= 1:
        return None
    part = encode(part_of(report)).encode()
    parts = collected(part, rank=capture.rank, world=capture.world_size, timeout=timeout, hurry=hurry)
    if parts is None:
        return None
    return merged_parts(parts)


def gather(report: ReportData, *, timeout: float, group: Any) -> RanksReport:
    """The report of all ranks, on each of them; see ``Report.gather``."""
    from autograd_inspector.capture.gathering import exchange

    def merge(parts: Mapping[int, bytes]) -> bytes:
        return merged_parts(parts).to_json().encode()

    return RanksReport.from_json(exchange(encode(part_of(report)).encode(), merge, timeout=timeout, group=group))
