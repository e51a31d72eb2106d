"""The program as tables of the wire: ops, tensors, lines, module calls, events."""

from __future__ import annotations

from typing import Any

from autograd_inspector.analysis.compiled_code import framed_calls
from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.display_names import unwrapped
from autograd_inspector.model.location import Location
from autograd_inspector.views import wire
from autograd_inspector.views.tables.columns import Columns
from autograd_inspector.views.tables.events import events_of
from autograd_inspector.views.tables.versions import inputs_of, outputs_of


def program_tables(report: ReportData, columns: Columns) -> dict[str, Any]:
    """Everything that happened, and where."""
    return _ops(report, columns) | _places(report.capture, columns)


def _ops(report: ReportData, columns: Columns) -> dict[str, Any]:
    number, text, shape = columns.numbers, columns.texts, columns.shapes
    ops, tensors, by_op = report.capture.ops, report.capture.tensors, report.graph.by_op
    (read, read_versions), (made, made_versions) = inputs_of(ops), outputs_of(report.capture)
    writes = [write for op in ops for write in op.writes]
    _, calls, _ = framed_calls(report.capture)
    return {
        "ops": wire.Ops(
            name=text([op.name for op in ops]),
            node=number([by_op.get(op.index, -1) for op in ops]),
            call=number(calls),
            site=number([op.site for op in ops]),
            region=number([op.region for op in ops]),
            traits=number([op.traits for op in ops]),
            error=text([op.error for op in ops]),
            inputs=number([len(op.inputs) for op in ops]),
            outputs=number([len(op.outputs) for op in ops]),
            writes=number([len(op.writes) for op in ops]),
        ),
        "inputs": wire.Inputs(
            tensor=number(read),
            version=number(read_versions),
        ),
        "outputs": wire.Outputs(
            tensor=number(made),
            version=number(made_versions),
        ),
        "writes": wire.Writes(
            tensor=number([w.tensor for w in writes]),
            before=number([w.before for w in writes]),
            after=number([w.after for w in writes]),
        ),
        "tensors": wire.Tensors(
            kind=text([t.kind for t in tensors]),
            name=text(map(report.capture.display_names.of, range(len(tensors)))),
            shape=shape([t.shape for t in tensors]),
            dtype=text([t.dtype for t in tensors]),
            device=text([t.device for t in tensors]),
            nbytes=number([t.nbytes for t in tensors]),
            flags=number([t.requires_grad | t.leaf << 1 | t.inference << 2 for t in tensors]),
            birth=number([t.birth for t in tensors]),
        ),
    }


def _places(capture: Capture, columns: Columns) -> dict[str, Any]:
    number, text = columns.numbers, columns.texts
    sites, regions = capture.sites, capture.regions
    calls, _, _ = framed_calls(capture)
    rows: dict[Location, int] = {}
    for site in sites:
        for frame in site.frames:
            rows.setdefault(frame, len(rows))
    events = events_of(capture)
    return {
        "sites": wire.Sites(
            user=number([-1 if site.user is None else rows[site.user] for site in sites]),
            chain=number([len(site.frames) for site in sites]),
        ),
        "chain": wire.Chain(number([rows[frame] for site in sites for frame in site.frames])),
        "frames": wire.Frames(
            filename=text([f.filename if f.cell is None else "" for f in rows]),
            lineno=number([f.lineno for f in rows]),
            function=text([f.function for f in rows]),
            cell=text([f.cell for f in rows]),
            source=text([f.source for f in rows]),
            library=number([int(f.library) for f in rows]),
        ),
        "calls": wire.Calls(
            parent=number([c.parent for c in calls]),
            path=text([unwrapped(c.path) for c in calls]),
            type=text([c.type for c in calls]),
            nth=number([c.nth for c in calls]),
            root=number([c.root for c in calls]),
            site=number([c.site for c in calls]),
            training=number([int(c.training) for c in calls]),
        ),
        "regions": wire.Regions(
            kind=text([r.kind for r in regions]),
            api=text([r.api for r in regions]),
            site=number([r.site for r in regions]),
            at=number([r.at for r in regions]),
        ),
        "events": wire.Events(
            at=number([e.at for e in events]),
            kind=text([e.kind for e in events]),
            api=text([e.api for e in events]),
            said=text([e.said for e in events]),
            site=number([e.site for e in events]),
            alarming=number([int(e.alarming) for e in events]),
        ),
    }
