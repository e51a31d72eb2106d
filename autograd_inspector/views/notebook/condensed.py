"""A report -> a small one: the boxes of the collapsed picture as nodes, the findings, the first rows of the placement.

What a notebook file keeps of a report that is too large for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from autograd_inspector.analysis.gradients.origins import GradientOrigin
from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.model.autograd import Backward, GraphHead, SavedTensor
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.graph import Graph, GraphEdge, GraphNode, VersionEdge
from autograd_inspector.model.location import Site
from autograd_inspector.model.op import ModuleCall
from autograd_inspector.model.placement_rows import ParameterRow
from autograd_inspector.model.tensor import TensorRecord
from autograd_inspector.views.picture.boxes import Box, Picture, picture

_BOXES = 40
"""As many as a picture has by default: the fallbacks share it."""


def condensed(report: ReportData, *, rows: int) -> ReportData:
    """The same findings over a graph of about forty nodes, with at most ``rows`` rows of each of the long tables."""
    return _Condensing(report, rows).report()


class _Condensing:
    """Tensors, sites and module calls that are still spoken of get new numbers, in the order of their mention."""

    def __init__(self, report: ReportData, rows: int) -> None:
        self.whole = report
        self.capture = report.capture
        self.rows = rows
        self._tensors: dict[int, int] = {}
        self._sites: dict[int, int] = {}
        self._calls: dict[int, int] = {-1: -1}

    def report(self) -> ReportData:
        drawn = picture(self.whole, limit=_BOXES)
        # Calls first: the chains name them outermost first, so that a parent stands before its children.
        for box in drawn.boxes:
            for call in box.chain:
                self._calls.setdefault(call, len(self._calls) - 1)
        nodes = tuple(map(self._node, drawn.boxes))
        edges = tuple(
            GraphEdge(link.source, link.target, link.kind, cause=link.cause, site=self._site(link.site), live=link.live)
            for link in drawn.links
            if link.kind != "modified"
        )
        whole = self.whole.graph
        graph = Graph(nodes, edges, saved_bytes=whole.saved_bytes, truncated=whole.truncated)
        held = self.capture.placement
        placement = replace(
            held,
            rows=tuple(map(self._row, held.rows[: self.rows])),
            optimizers=tuple(replace(one, site=self._site(one.site)) for one in held.optimizers),
        )
        backwards = tuple(map(self._backward, self.capture.backwards[: self.rows]))
        calls = tuple(self._called())
        origins = dict(self._origins())
        capture = Capture(
            tensors=tuple(self._kept(self.capture.tensors[number]) for number in self._tensors),
            calls=calls,
            backwards=backwards,
            placement=placement,
            models=self.capture.models,
            namespace=self.capture.namespace,
            error=self.capture.error,
            torch_version=self.capture.torch_version,
            # Last: everything above has mentioned its sites by now.
            sites=tuple(self._chain(number) for number in self._sites),
        )
        findings = tuple(map(self._finding, self.whole.findings[: self.rows]))
        small = ReportData(capture, findings, self.whole.ignored, self.whole.notes[: self.rows], pages=self.whole.pages)
        small.__dict__["graph"] = graph
        small.__dict__["version_edges"] = tuple(self._versions(drawn))
        small.__dict__["gradient_origins"] = origins
        graph.__dict__["by_op"] = {
            op: box.id
            for box in drawn.boxes
            for op in (self.whole.graph.nodes[number].op for number in box.nodes)
            if op >= 0
        }
        return small

    def _versions(self, drawn: Picture) -> Iterator[VersionEdge]:
        """Between boxes; within one of them there is nothing to lead to."""
        box_of = {number: box.id for box in drawn.boxes for number in box.nodes}
        for edge in self.whole.version_edges:
            ends = box_of.get(edge.source), box_of.get(edge.target)
            if ends[0] is not None and ends[1] is not None and ends[0] != ends[1]:
                yield replace(edge, source=ends[0], target=ends[1])

    def _origins(self) -> Iterator[tuple[int, GradientOrigin]]:
        """Which losses the gradients of the rows came from."""
        for row in self.capture.placement.rows[: self.rows]:
            origin = self.whole.gradient_origins.get(row.tensor)
            if origin is not None:
                losses = tuple(replace(loss, site=self._site(loss.site)) for loss in origin.losses)
                yield self._tensor(row.tensor), replace(origin, losses=losses)

    def _node(self, box: Box) -> GraphNode:
        members = [self.whole.graph.nodes[number] for number in box.nodes]
        first, last = members[0], members[-1]
        alone = len(members) == 1
        return GraphNode(
            box.id,
            first.kind if box.leaf else last.kind if alone else "op",
            last.name if alone else f"{box.title} ({box.subtitle})" if box.subtitle else box.title,
            path=last.path,
            tensor=self._tensor((first if box.leaf else last).tensor),
            call=self._calls[box.chain[-1]] if box.chain else -1,
            site=self._site(last.site),
            grad_fns=last.grad_fns if alone else (),
            saved=tuple(self._saved(saved) for node in members for saved in node.modified)[: self.rows],
            hooks=sum(node.hooks for node in members),
            tracked=any(node.tracked for node in members),
            root=any(node.root for node in members),
            failed=any(node.failed for node in members),
            recomputed=all(node.recomputed for node in members),
            error=next((node.error for node in members if node.error), ""),
        )

    def _finding(self, finding: Finding) -> Finding:
        several = {
            name: getattr(finding, name)[: self.rows] for name in ("subjects", "details", "consequences", "locations")
        }
        return replace(finding, **several)

    def _saved(self, saved: SavedTensor) -> SavedTensor:
        return replace(saved, tensor=self._tensor(saved.tensor))

    def _row(self, row: ParameterRow) -> ParameterRow:
        return replace(row, tensor=self._tensor(row.tensor))

    def _backward(self, run: Backward) -> Backward:
        return replace(run, graph=GraphHead(), start=0, end=0, site=self._site(run.site))

    def _called(self) -> Iterator[ModuleCall]:
        for number, new in self._calls.items():
            if number >= 0:
                call = self.capture.calls[number]
                yield replace(call, id=new, parent=self._calls.get(call.parent, -1), site=self._site(call.site))

    def _kept(self, tensor: TensorRecord) -> TensorRecord:
        return replace(tensor, id=self._tensors[tensor.id], birth=-1)

    def _chain(self, number: int) -> Site:
        user = self.capture.place(number)
        return Site(() if user is None else (user,))

    def _tensor(self, number: int) -> int:
        return number if number < 0 else self._tensors.setdefault(number, len(self._tensors))

    def _site(self, number: int) -> int:
        return number if number < 0 else self._sites.setdefault(number, len(self._sites))
