"""Report -> wire."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import msgspec
from msgspec.structs import replace

from autograd_inspector.analysis.ranks_data import ReportOfRank
from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.excerpt import Excerpt
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.graph import GraphNode
from autograd_inspector.model.ranks import ranks_text
from autograd_inspector.model.rule_page import RulePage
from autograd_inspector.model.settings import setting_text
from autograd_inspector.model.totals import Total
from autograd_inspector.views import wire
from autograd_inspector.views.display_text import carried, tried_text, unedited_text
from autograd_inspector.views.gc_pause import collector_paused
from autograd_inspector.views.summaries.steps import extremes, steps_of
from autograd_inspector.views.summary import headline, unjudged
from autograd_inspector.views.tables.columns import Columns, legible
from autograd_inspector.views.tables.events import norms_of
from autograd_inspector.views.tables.gradients import origins_of
from autograd_inspector.views.tables.graph import graph_tables
from autograd_inspector.views.tables.placement import placement_tables
from autograd_inspector.views.tables.program import program_tables
from autograd_inspector.views.tables.ranks import wired_ranks
from autograd_inspector.views.tables.vitals import wired_vitals

LARGE = 3_000
"""From so many nodes on columns go into the buffer."""
POINTS, NEWS = 120, 32
"""Values of a figure over the steps, and changes between steps, that are sent."""


def encoded(report: ReportData) -> tuple[str, bytes]:
    """The wire as JSON text, and the buffer that its columns point into (empty for a small graph)."""
    record, buffer = wired(report)
    return msgspec.json.encode(record).decode(), buffer


def wired(report: ReportData) -> tuple[wire.Wire, bytes]:
    """The wire and its buffer, made once a report: what is sent is what the notebook file keeps."""
    made: tuple[wire.Wire, bytes] | None = report.__dict__.get("_wired")
    if made is None:
        with collector_paused():
            encoder = _Encoder(report, packed=len(report.graph.nodes) >= LARGE)
            record = encoder.record()
        made = report.__dict__["_wired"] = (record, bytes(encoder.columns.buffer))
    return made


def record_of(report: ReportData) -> wire.Wire:
    """The wire with all of its columns in itself, none in a buffer."""
    return _Encoder(report, packed=False).record()


def main_cell(capture: Capture) -> str:
    """The cell or file from which most was called: modules are often defined in another."""
    counts: dict[str, int] = {}
    for site in capture.sites:
        outermost = next((frame for frame in reversed(site.frames) if not frame.library), None)
        if outermost is not None:
            place = outermost.cell or outermost.place.rpartition(":")[0]
            counts[place] = counts.get(place, 0) + 1
    cells = {place: count for place, count in counts.items() if place.startswith("In [")} or counts
    return max(cells, key=cells.__getitem__, default="")


def heading_of(report: ReportData) -> dict[str, Any]:
    """Those fields of the wire that tell of the whole, not of its rows."""
    return _Encoder(report, packed=False).heading()


_CHANGES = 40
_PATCH = 8000
"""Characters; a longer one is not sent."""


class _Encoder:
    def __init__(self, report: ReportData, *, packed: bool) -> None:
        self.report = report
        self.capture = report.capture
        self.graph = report.graph
        self.columns = Columns(packed=packed)

    def record(self) -> wire.Wire:
        tables = (
            graph_tables(self.report, self.columns)
            | program_tables(self.report, self.columns)
            | placement_tables(self.capture, self.columns)
        )
        findings = tuple(map(self._story_of, range(len(self.report.findings))))
        return wire.Wire(
            wire=wire.WIRE,
            findings=findings,
            strings=self.columns.strings.all,
            gradients=tuple(origins_of(self.report)),
            vitals=wired_vitals(self.report),
            norms=self._norms(),
            **self.heading(),
            **tables,
        )

    def _norms(self) -> wire.GradientNorms | None:
        norms = norms_of(self.capture, self.graph)
        if not norms:
            return None
        return wire.GradientNorms(tuple(norms), tuple(float(f"{norm:.4g}") for norm in norms.values()))

    def heading(self) -> dict[str, Any]:
        totals = self.report.placement.totals
        return {
            "head": self._head(),
            "optimizers": tuple(self._optimizers()),
            "by_device": tuple(_bars(totals.by_device)),
            "by_dtype": tuple(_bars(totals.by_dtype)),
            "steps": _steps(self.report),
            "pages": tuple(_pages(self.report)),
            "ranks": wired_ranks(self.report) if isinstance(self.report, ReportOfRank) else None,
        }

    def _head(self) -> wire.Summary:
        return wire.Summary(
            cell=legible(main_cell(self.capture)),
            headline=headline(self.report),
            unjudged=unjudged(self.report),
            ops=self.capture.observed_ops,
            autograd_nodes=sum(len(node.grad_fns) for node in self.graph.nodes),
            saved_bytes=self.graph.saved_bytes,
            seconds=self.capture.seconds,
            error=legible(self.capture.error, 4000),
            torch=self.capture.torch_version,
            truncated=self.graph.truncated,
            ignored=self.report.ignored,
            notes=tuple(map(legible, self.report.notes)),
            models=tuple(map(legible, self.capture.models)),
            parameters=len(self.report.placement.rows),
        )

    def _optimizers(self) -> Iterator[wire.Optimizer]:
        for optimizer in self.report.placement.optimizers:
            place = self.capture.place(optimizer.site)
            groups = tuple(
                {legible(k): legible(setting_text(v), 80) for k, v in group.items()} for group in optimizer.groups
            )
            where = "" if place is None else legible(place.place)
            yield wire.Optimizer(legible(optimizer.type), groups, optimizer.steps, where)

    def _story_of(self, number: int) -> wire.FindingView:
        view = self._story(self.report.findings[number])
        if not isinstance(self.report, ReportOfRank):
            return view
        # What another rank found is about the nodes of its graph.
        nodes = view.nodes if self.report.has(number) else ()
        return replace(view, nodes=nodes, ranks=ranks_text(self.report.ranks.findings[number].ranks))

    def _story(self, finding: Finding) -> wire.FindingView:
        by_op = self.graph.by_op
        named = {
            name.removeprefix(before)
            for name in finding.subjects
            for before in ("", *(f"{m}." for m in self.capture.models))
        }
        nodes = dict.fromkeys(by_op[op] for op in finding.ops if op in by_op)
        if not nodes:
            leaf_places = sorted(place for name in named for place in self._leaves.get(name, ()))
            nodes = dict.fromkeys(self.graph.nodes[place].id for place in leaf_places)
        return wire.FindingView(
            rule=legible(finding.rule),
            name=legible(finding.name),
            severity=finding.severity,
            message=legible(finding.message, 4000),
            fix=legible(finding.fix.strip(), 4000),
            steps=tuple(map(legible, finding.details)),
            subjects=tuple(map(legible, finding.subjects)),
            consequences=tuple(map(legible, finding.consequences)),
            nodes=tuple(nodes),
            code=tuple(map(_excerpt, finding.code)),
            changes=tuple(legible(line) for line in finding.changes[:_CHANGES]),
            patch=carried(finding.patch) if len(finding.patch) <= _PATCH else "",
            applicability=finding.applicability,
            unedited=legible(unedited_text(finding)),
            tried=tried_text(finding),
        )

    @cached_property
    def _leaves(self) -> dict[str, list[int]]:
        """Name -> the places of the leaves that have it."""
        places_of_name: dict[str, list[int]] = {}
        for place, node in enumerate(self.graph.nodes):
            if node.leaf:
                places_of_name.setdefault(self._name(node), []).append(place)
        return places_of_name

    def _name(self, node: GraphNode) -> str:
        return self.capture.display_names.in_table(node.tensor) if node.tensor >= 0 else node.name


def _steps(report: ReportData) -> wire.Steps | None:
    steps = steps_of(report)
    if steps is None:
        return None
    figures = []
    for row in steps.rows:
        points = extremes(row.values, POINTS)
        at, values = tuple(at for at, _ in points), tuple(value for _, value in points)
        figures.append(wire.StepFigure(row.label, row.said, at, values))
    news = []
    for change in steps.changes[:NEWS]:
        place = report.capture.place(change.site)
        news.append(wire.StepChange(change.step, legible(change.said), "" if place is None else legible(place.place)))
    untold = steps.untold + len(steps.changes[NEWS:])
    return wire.Steps(legible(steps.said), len(report.history), tuple(figures), tuple(news), untold)


def _bars(totals: dict[str, Total]) -> Iterator[wire.ByteTotal]:
    for key, total in totals.items():
        yield wire.ByteTotal(legible(key), total.parameters, total.gradients, total.state)


def _pages(report: ReportData) -> Iterator[RulePage]:
    for page in report.pages:
        sections = tuple(replace(one, text=legible(one.text, 4000), title=legible(one.title)) for one in page.sections)
        yield RulePage(legible(page.rule), sections)


def _excerpt(excerpt: Excerpt) -> Excerpt:
    lines = tuple(
        replace(line, text=_code(line.text), role=legible(line.role), expression=legible(line.expression))
        for line in excerpt.lines
    )
    # The file that a cell was compiled as has another name in each run.
    return Excerpt("" if excerpt.cell else legible(excerpt.filename), legible(excerpt.cell), lines)


def _code(line: str) -> str:
    """A line of code: its indentation is kept."""
    return " " * (len(line) - len(line.lstrip(" "))) + legible(line.lstrip(" "))
