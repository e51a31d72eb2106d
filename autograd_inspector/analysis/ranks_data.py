"""What views show of several ranks: what they have together, and the capture of one of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.finding import SEVERITIES, Finding
from autograd_inspector.model.ranked_vitals import RankedVitals
from autograd_inspector.model.ranks import Lane, RankedFinding, RankedPlacement
from autograd_inspector.model.rule_page import RulePage

RANKS_SCHEMA = 1
"""Version of the JSON form of parts and of what is merged from them; a reader refuses any other."""


class RanksData(Struct, frozen=True, dict=True):
    """One report of all ranks: ``placement`` has a column a rank, ``findings`` say which ranks have them.

    ``vitals``: the statistics over the steps, of all ranks together.
    ``lanes`` have what each rank did with the others, in order, once for all ranks that did the same.
    """

    placement: RankedPlacement
    findings: tuple[RankedFinding, ...] = ()
    notes: tuple[str, ...] = ()
    schema: int = RANKS_SCHEMA
    vitals: RankedVitals = RankedVitals()
    lanes: tuple[Lane, ...] = ()


class ReportOfRank(ReportData, frozen=True, dict=True, kw_only=True):
    """The capture of one ``rank`` (-1: of none) under the findings of all; ``others`` has every rank's that is known.

    ``findings`` are those of ``ranks.findings``, in their order.
    """

    rank: int
    ranks: RanksData
    others: dict[int, ReportOfRank]

    def has(self, number: int) -> bool:
        """Whether a finding is one of this rank's own."""
        return self.rank in self.ranks.findings[number].ranks


def reports_of_ranks(
    ranks: RanksData, reports: Mapping[int, ReportData], pages: tuple[RulePage, ...]
) -> dict[int, ReportOfRank]:
    """For each rank whose report is given; for none of them where there is none."""
    others: dict[int, ReportOfRank] = {}
    for rank in sorted(reports) or [-1]:
        report = reports.get(rank, ReportData(Capture()))
        # What another rank found is about ops of its own capture.
        own = {sameness(finding): finding for finding in report.findings}
        findings = (own.get(sameness(one.finding), replace(one.finding, ops=())) for one in ranks.findings)
        others[rank] = ReportOfRank(
            report.capture,
            tuple(findings),
            notes=tuple(dict.fromkeys((*ranks.notes, *report.notes))),
            pages=pages,
            rank=rank,
            ranks=ranks,
            others=others,
        )
    return others


def sameness(finding: Finding) -> tuple[object, ...]:
    """What ranks have to find alike for it to be one finding: their ops and the callers of the line may differ."""
    return (finding.rule, finding.severity, finding.message, finding.fix, finding.subjects, finding.locations[:1])


def most_telling(reports: Mapping[int, ReportOfRank]) -> ReportOfRank:
    """Of the first rank that has the first finding, else of the first."""
    first = next(iter(reports.values()))
    having = first.ranks.findings[0].ranks if first.ranks.findings else ()
    return next((reports[rank] for rank in having if rank in reports), first)


def worst_of(findings: Iterable[Finding]) -> str:
    """The gravest severity, "" without findings."""
    return min((finding.severity for finding in findings), key=SEVERITIES.index, default="")
