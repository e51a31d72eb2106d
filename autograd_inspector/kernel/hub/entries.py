"""A report -> what a list shows of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.kernel.cell_ids import cell_ids, first_line
from autograd_inspector.kernel.hub.messages import Entry, Mark
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.location import Location
from autograd_inspector.views.encoding import main_cell
from autograd_inspector.views.summary import headline, unjudged
from autograd_inspector.views.tables.columns import legible

_SHORT = 200
_MARKS = 200
_PATCH = 10_000


def entry_of(report: ReportData, identity: str, created: float) -> Entry:
    """Names and texts of the program as they may be shown, none of them long."""
    ids = cell_ids(report.capture)
    counts = Counter(finding.severity for finding in report.findings)
    cell = main_cell(report.capture)
    return Entry(
        id=identity,
        name="",
        cell=legible(cell, _SHORT),
        cell_id=ids.get(cell, ""),
        first_line=legible(first_line(cell), _SHORT),
        headline=headline(report),
        unjudged=unjudged(report),
        errors=counts["error"],
        warnings=counts["warning"],
        infos=counts["info"],
        nodes=len(report.graph.nodes),
        ops=report.capture.observed_ops,
        created=created,
        seconds=report.capture.seconds,
        error=legible(report.capture.error.partition("\n")[0], _SHORT),
        marks=tuple(_marks(report, ids))[:_MARKS],
    )


def _exact(line: str) -> str:
    text = line.strip()
    return text if text == legible(text, _SHORT) else ""


def _marks(report: ReportData, ids: dict[str, str]) -> Iterator[Mark]:
    """The lines of cells that findings name, the culprit of each first, be it in a file."""
    for finding in report.findings:
        if finding.locations and finding.locations[0].cell is None:
            yield _mark(finding, finding.locations[0], ids, culprit=True)
        seen: set[tuple[str, int]] = set()
        patch = finding.patch if len(finding.patch) <= _PATCH else ""
        for number, place in enumerate(finding.locations):
            if place.cell is None or (place.cell, place.lineno) in seen:
                continue
            first = not seen
            seen.add((place.cell, place.lineno))
            yield _mark(finding, place, ids, culprit=number == 0, patch=patch if first else "")


def culprits(findings: Iterable[Finding], ids: dict[str, str]) -> tuple[Mark, ...]:
    """The first line of each finding, in a cell or in a file."""
    return tuple(_mark(finding, finding.locations[0], ids, culprit=True) for finding in findings if finding.locations)


def _mark(finding: Finding, place: Location, ids: dict[str, str], *, culprit: bool, patch: str = "") -> Mark:
    cell = place.cell or legible(Path(place.filename).name, _SHORT)
    return Mark(
        rule=finding.rule,
        name=finding.name,
        severity=finding.severity,
        message=legible(finding.message, 1000),
        cell=cell,
        cell_id=ids.get(cell, ""),
        line=place.lineno,
        source=_exact(place.source),
        role=legible(place.role, _SHORT),
        fix=legible(finding.fix.strip(), 2000),
        culprit=culprit,
        patch=patch,
        unsafe=finding.applicability == "unsafe",
        path="" if place.cell else place.filename,
    )
