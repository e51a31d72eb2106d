"""Report -> wire: the rows of every table."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from autograd_inspector.model.finding import Finding
from autograd_inspector.model.graph import GraphNode
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op
from autograd_inspector.model.placement import ParameterRow
from autograd_inspector.model.totals import Total, bytes_by
from autograd_inspector.report import Report
from autograd_inspector.views import wire
from autograd_inspector.views.columns import Strings, Tables, legible
from autograd_inspector.views.happened import events_of, remarks_of
from autograd_inspector.views.summary import headline

LARGE = 3_000
"""From so many nodes on columns go into the buffer."""

Row = tuple[int, ...]


def encoded(report: Report) -> tuple[str, bytes]:
    """The wire as JSON text, and the buffer that its columns point into (empty for a small graph)."""
    encoder = _Encoder(report)
    with _collector_paused():
        text = msgspec.json.encode(encoder.record()).decode()
    return text, bytes(encoder.tables.buffer)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Rows are many, short-lived and never cyclic: looking for cycles among them takes a third of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class _Encoder:
    def __init__(self, report: Report) -> None:
        self.report = report
        self.capture = report.capture
        self.graph = report.graph
        self.strings = Strings()
        self.text = self.strings.id
        self.tables = Tables(packed=len(self.graph.nodes) >= LARGE)
        self._shapes: dict[tuple[int, ...], int] = {}

    def record(self) -> wire.Wire:
        nodes, table = self.graph.nodes, self.tables.table
        ops, rows = self.capture.ops, self.report.placement.rows
        frames = self._frames()
        tables: dict[str, Any] = {
            "nodes": table(wire.Nodes, self._nodes()),
            "grad_fns": table(wire.GradFns, ((self.text(name),) for node in nodes for name in node.grad_fns)),
            "saved": table(wire.Saved, self._saved()),
            "edges": table(wire.Edges, self._edges()),
            "ops": table(wire.Ops, self._ops()),
            "inputs": table(wire.Inputs, _inputs(ops)),
            "outputs": table(wire.Outputs, ((tensor,) for op in ops for tensor in op.outputs)),
            "writes": table(wire.Writes, ((w.tensor, w.before, w.after) for op in ops for w in op.writes)),
            "tensors": table(wire.Tensors, self._tensors()),
            "sites": table(wire.Sites, ((frames.get(site.user, -1), len(site.frames)) for site in self.capture.sites)),
            "chain": table(wire.Chain, ((frames[f],) for site in self.capture.sites for f in site.frames)),
            "frames": table(wire.Frames, map(self._frame, frames)),
            "calls": table(wire.Calls, self._calls()),
            "regions": table(
                wire.Regions, ((self.text(r.kind), self.text(r.api), r.site, r.at) for r in self.capture.regions)
            ),
            "events": table(wire.Events, self._events()),
            "parameters": table(wire.Parameters, map(self._parameter, rows)),
            "state": table(
                wire.State,
                (
                    (self.text(e.name), self._shape(e.shape), self.text(e.dtype), self.text(e.device), e.nbytes)
                    for row in rows
                    for e in row.state
                ),
            ),
            "remarks": table(
                wire.Remarks, ((node, self.text(said)) for node, said in remarks_of(self.capture, self.graph))
            ),
        }
        return wire.Wire(
            wire=wire.WIRE,
            head=self._head(),
            findings=tuple(self._story(finding) for finding in self.report.findings),
            optimizers=tuple(self._optimizers()),
            by_device=tuple(_bars(bytes_by(self.report.placement, "device"))),
            by_dtype=tuple(_bars(bytes_by(self.report.placement, "dtype"))),
            strings=self.strings.all,
            **tables,
        )

    def _head(self) -> wire.Head:
        return wire.Head(
            cell=legible(self._cell()),
            headline=headline(self.report),
            ops=len(self.capture.ops),
            autograd_nodes=sum(len(node.grad_fns) for node in self.graph.nodes),
            saved_bytes=self.graph.saved_bytes,
            seconds=self.capture.seconds,
            error=legible(self.capture.error, 4000),
            torch=self.capture.torch_version,
            truncated=self.graph.truncated,
            ignored=self.report.ignored,
            notes=tuple(map(legible, self.report.notes)),
            models=tuple(map(legible, self.capture.models)),
        )

    def _cell(self) -> str:
        """The cell or file whose lines ran most."""
        counts: dict[str, int] = {}
        for site in self.capture.sites:
            if site.user is not None and not site.user.library:
                place = site.user.cell or site.user.place.rpartition(":")[0]
                counts[place] = counts.get(place, 0) + 1
        cells = {place: count for place, count in counts.items() if place.startswith("In [")} or counts
        return max(cells, key=cells.__getitem__, default="")

    def _nodes(self) -> Iterator[Row]:
        text = self.text
        reached = {row.tensor: _gradient(row) for row in self.report.placement.rows}
        ran = any(run.api == "backward" for run in self.capture.backwards)
        for n in self.graph.nodes:
            flags = n.tracked | n.root << 1 | n.failed << 2 | n.recomputed << 3
            gradient = reached.get(n.tensor, 0) if ran and n.kind == "parameter" else 0
            own = text(n.kind), text(n.name), n.op, n.tensor, n.call, n.site, flags, n.hooks, text(n.error), gradient
            yield *own, len(n.grad_fns), len(n.saved)

    def _saved(self) -> Iterator[Row]:
        text = self.text
        for s in (saved for node in self.graph.nodes for saved in node.saved):
            versions = (-1 if version is None else version for version in (s.saved_version, s.current_version))
            kind = text(s.name), s.tensor, self._shape(s.shape), text(s.dtype), text(s.device), s.nbytes
            yield *kind, text(s.status), *versions, int(s.unused)

    def _edges(self) -> Iterator[Row]:
        for e in self.graph.edges:
            yield e.source, e.target, self.text(e.kind), e.tensor, self.text(e.cause), e.site, int(e.live)

    def _ops(self) -> Iterator[Row]:
        text, by_op = self.text, self.graph.by_op
        for op in self.capture.ops:
            own = text(op.name), by_op.get(op.index, -1), op.call, op.site, op.region, op.traits, text(op.error)
            yield *own, len(op.inputs), len(op.outputs), len(op.writes)

    def _tensors(self) -> Iterator[Row]:
        text = self.text
        for t in self.capture.tensors:
            name = text(t.names[0] if t.names else t.variable)
            flags = t.requires_grad | t.leaf << 1 | t.inference << 2
            held = self._shape(t.shape), text(t.dtype), text(t.device), t.nbytes
            yield text(t.kind), name, *held, flags, t.birth

    def _frames(self) -> dict[Location | None, int]:
        found: dict[Location | None, int] = {}
        for site in self.capture.sites:
            for frame in site.frames:
                found.setdefault(frame, len(found))
        return found

    def _frame(self, frame: Location | None) -> Row:
        if frame is None:
            return -1, 0, -1, -1, -1, 0
        name = frame.filename if frame.cell is None else ""
        text = self.text
        own = text(name), frame.lineno, text(frame.function), text(frame.cell), text(frame.source)
        return *own, int(frame.library)

    def _calls(self) -> Iterator[Row]:
        for c in self.capture.calls:
            yield c.parent, self.text(c.path), self.text(c.type), c.nth, c.root, c.site, int(c.training)

    def _events(self) -> Iterator[Row]:
        for e in events_of(self.capture):
            yield e.at, self.text(e.kind), self.text(e.api), self.text(e.said), e.site, int(e.alarming)

    def _parameter(self, row: ParameterRow) -> Row:
        text, grad = self.text, row.gradient
        own = row.tensor, text(row.name or "?"), text(row.model), self._shape(row.shape), text(row.dtype)
        gradient = (-1, -1, -1, -1)
        if grad is not None:
            gradient = self._shape(grad.shape), text(grad.dtype), text(grad.device), grad.nbytes
        facts = int(row.requires_grad), int(row.reached), text(self.report.placement.standing(row))
        where = text(row.device), row.nbytes
        return *own, *where, *facts, row.optimizer, row.group, *gradient, len(row.state)

    def _optimizers(self) -> Iterator[wire.Optimizer]:
        for optimizer in self.report.placement.optimizers:
            place = self.capture.place(optimizer.site)
            groups = tuple({legible(k): legible(v, 80) for k, v in group.items()} for group in optimizer.groups)
            where = "" if place is None else legible(place.place)
            yield wire.Optimizer(legible(optimizer.type), groups, optimizer.steps, where)

    def _story(self, finding: Finding) -> wire.Story:
        by_op = self.graph.by_op
        named = set(finding.subjects)
        nodes = dict.fromkeys(by_op[op] for op in finding.ops if op in by_op)
        if not nodes:
            nodes = dict.fromkeys(n.id for n in self.graph.nodes if n.leaf and self._name(n) in named)
        return wire.Story(
            rule=finding.rule,
            name=finding.name,
            severity=finding.severity,
            message=legible(finding.message, 4000),
            fix=legible(finding.fix.strip(), 4000),
            places=tuple(map(_place, finding.locations)),
            steps=tuple(map(legible, finding.details)),
            subjects=tuple(map(legible, finding.subjects)),
            consequences=tuple(map(legible, finding.consequences)),
            nodes=tuple(nodes),
        )

    def _name(self, node: GraphNode) -> str:
        return self.capture.tensors[node.tensor].name if node.tensor >= 0 else node.name

    def _shape(self, shape: tuple[int, ...]) -> int:
        found = self._shapes.get(shape)
        if found is None:
            found = self._shapes[shape] = self.text("×".join(map(str, shape)) or "scalar")
        return found


def _inputs(ops: Iterable[Op]) -> Iterator[Row]:
    for op in ops:
        versions = iter(op.versions)
        for tensor in op.inputs:
            yield tensor, next(versions, -1)


def _gradient(row: ParameterRow) -> int:
    if row.gradient is not None or row.reached:
        return 1
    return 2 if row.requires_grad else 0


def _bars(totals: dict[str, Total]) -> Iterator[wire.Bar]:
    for key, total in totals.items():
        yield wire.Bar(legible(key), total.parameters, total.gradients, total.state)


def _place(location: Location) -> wire.Place:
    source = legible(location.source)
    expression = legible(location.expression) if location.expression else ""
    return wire.Place(
        place=legible(location.place),
        source=source,
        role=legible(location.role),
        function=legible(location.function),
        expression=expression if expression in source else "",
    )
