"""Graph -> the boxes and links of a picture, independent of who draws it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.graph import Cause, GraphEdge, GraphNode, VersionEdge
from autograd_inspector.views.picture.folding import Folding, Key
from autograd_inspector.views.picture.labels import alarms_of, ended, leaf_title, title_of
from autograd_inspector.views.picture.relevant import relevant
from autograd_inspector.views.summaries.alarms import Alarms, Tone, worst

_FEW = 3
_CROWDS = 200
_BOUND = frozenset({"parameter", "buffer"})

Crowd = tuple[str, bool, str]
"""(kind, whether gradient can flow through it, the boxes that read it) of leaves that are one box."""
Look = Literal["flowing", "still", "learnt", "given", "start", "warned", "broken"]


class Box(Struct, frozen=True):
    """``chain``: the module calls it is drawn in, outermost first. ``alarms``: what went wrong in it.

    ``devices``: where the tensors of its parameters and results live. ``nodes``: the graph's nodes that it stands for.
    ``call``: the module call that it stands for, -1 for none.
    """

    id: int
    look: Look
    title: str
    subtitle: str
    alarms: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    chain: tuple[int, ...] = ()
    leaf: bool = False
    devices: tuple[str, ...] = ()
    nodes: tuple[int, ...] = ()
    call: int = -1


class Link(Struct, frozen=True):
    """Values between boxes.

    ``label``: why gradient does not come back; ``live``: whether it should; ``tone``: how bad it is that it does not.
    ``modified``: from a box that saved a value to the one that modified it; ``label`` has the versions.
    """

    source: int
    target: int
    kind: Literal["gradient", "data", "severed", "modified"]
    label: str = ""
    live: bool = False
    tone: Tone = ""
    cause: Cause = ""
    site: int = -1


class Picture(Struct, frozen=True):
    """What there is to draw."""

    boxes: tuple[Box, ...]
    links: tuple[Link, ...]


def picture(report: ReportData, *, limit: int) -> Picture:
    """The relevant part of the graph in about ``limit`` boxes; made once, for all that show it."""
    made: dict[int, Picture] = report.__dict__.setdefault("_pictures", {})
    if limit not in made:
        made[limit] = _Drawing(report, limit).picture()
    return made[limit]


class _Drawing:
    def __init__(self, report: ReportData, limit: int) -> None:
        self.report = report
        self.capture: Capture = report.capture
        self.nodes = report.graph.nodes
        self.shown = relevant(report)
        self.edges = [e for e in report.graph.edges if e.source in self.shown and e.target in self.shown]
        self._fed = {edge.target for edge in self.edges}
        self.folding = Folding(report.graph, self.capture, self.shown)
        self.keys = self.folding.keys(limit)
        self.alarms = Alarms(report)
        self.flagged: dict[int, dict[str, Tone]] = defaultdict(dict)
        for finding in report.findings:
            for op in finding.ops:
                if finding.severity != "info" and op in report.graph.by_op:
                    self.flagged[report.graph.by_op[op]].setdefault(finding.rule, finding.severity)

    def picture(self) -> Picture:
        self._place_leaves()
        members: dict[Key, list[GraphNode]] = {}
        for number in sorted(self.keys):
            members.setdefault(self.keys[number], []).append(self.nodes[number])
        ids = {key: n for n, key in enumerate(members)}
        cuts: dict[Key, list[GraphEdge]] = defaultdict(list)
        for edge in self.edges:
            if edge.kind == "severed" and self._inside(edge):
                cuts[self.keys[edge.target]].append(edge)
        boxes = [self._box(ids[key], key, nodes, cuts[key]) for key, nodes in members.items()]
        return Picture(tuple(boxes), (*self._links(ids), *self._versions(ids)))

    def _inside(self, edge: GraphEdge) -> bool:
        return self.keys.get(edge.source) == self.keys.get(edge.target)

    def _place_leaves(self) -> None:
        """A leaf that one box alone reads is part of that box, if that is a module or sits in one.

        Many leaves that the same boxes read are one box.
        """
        readers: dict[int, set[Key]] = defaultdict(set)
        modular: dict[int, bool] = {}
        crowds: dict[Crowd, list[int]] = {}
        for edge in self.edges:
            if self._bare(self.nodes[edge.source]) and edge.target in self.keys:
                readers[edge.source].add(self.keys[edge.target])
                modular[edge.source] = modular.get(edge.source, True) and self.nodes[edge.target].call >= 0
        for number in sorted(readers):
            node = self.nodes[number]
            bound = node.kind in _BOUND or (node.call >= 0 and not node.tracked)
            if bound and len(readers[number]) == 1 and modular[number] and not node.root:
                self.keys[number] = next(iter(readers[number]))
            elif node.leaf:
                crowd = ",".join(sorted("/".join(key) for key in readers[number]))
                crowds.setdefault((node.kind, node.tracked, crowd), []).append(number)
            elif node.call < 0:
                self.keys[number] = ("op", str(number))
        for numbers in _few(crowds).values():
            together = len(numbers) > _FEW
            for number in numbers:
                self.keys[number] = ("leaves", str(numbers[0])) if together else ("op", str(number))

    def _bare(self, node: GraphNode) -> bool:
        """A tensor that nothing led to: a leaf, or a constant made on the spot."""
        return node.leaf or (node.kind == "op" and node.id not in self._fed)

    def _box(self, number: int, key: Key, nodes: list[GraphNode], cuts: list[GraphEdge]) -> Box:
        alarms = alarms_of(nodes, cuts, self.capture)
        flags = [flag for node in nodes for flag in self.flagged.get(node.id, {}).items()]
        alarms += [rule for rule, _ in flags]
        tone = worst(
            self._tone(nodes), *(self.alarms.at(edge.site) for edge in cuts if edge.live), *(t for _, t in flags)
        )
        notes = ["backward starts here"] if any(node.root for node in nodes) else []
        if any(node.hooks for node in nodes):
            notes.append("has hooks")
        if all(node.leaf for node in nodes):
            title, subtitle = leaf_title(nodes, self.capture)
        else:
            title, subtitle = title_of(key, nodes, self.capture, self.folding.times(key))
        return Box(
            number,
            self._look(nodes, tone),
            title,
            subtitle,
            tuple(dict.fromkeys(alarms)),
            tuple(notes),
            self._chain(key, nodes),
            all(node.leaf for node in nodes),
            self._devices(nodes),
            tuple(node.id for node in nodes),
            int(key[1]) if key[0] == "call" else -1,
        )

    def _devices(self, nodes: list[GraphNode]) -> tuple[str, ...]:
        held = [node.tensor for node in nodes if node.leaf]
        held += [tensor for node in nodes if node.op >= 0 for tensor in self.capture.ops[node.op].outputs]
        return tuple(sorted({self.capture.tensors[tensor].device for tensor in held if tensor >= 0}))

    def _tone(self, nodes: list[GraphNode]) -> Tone:
        failed = any(node.failed or ended(node, self.capture) for node in nodes)
        return "error" if failed else worst(*(self.alarms.at(node.site, "error") for node in nodes if node.modified))

    def _look(self, nodes: list[GraphNode], tone: Tone) -> Look:
        if tone:
            return "broken" if tone == "error" else "warned"
        if any(node.root for node in nodes):
            return "start"
        if all(self._bare(node) for node in nodes):
            return "learnt" if nodes[0].tracked else "given"
        return "flowing" if any(node.tracked and not node.leaf for node in nodes) else "still"

    def _chain(self, key: Key, nodes: list[GraphNode]) -> tuple[int, ...]:
        if key[0] == "path":
            return ()
        if key[0] == "call":
            return self.folding.chains[self.capture.calls[int(key[1])].parent]
        return self.folding.chains[next((node.call for node in nodes if not node.leaf), -1)]

    def _links(self, ids: dict[Key, int]) -> tuple[Link, ...]:
        edge_of_pair: dict[tuple[int, int, bool], GraphEdge] = {}
        for edge in self.edges:
            source, target = self.keys.get(edge.source), self.keys.get(edge.target)
            if source is None or target is None or source == target:
                continue
            pair = ids[source], ids[target], edge.kind == "severed"
            drawn = edge_of_pair.get(pair)
            if drawn is None or (edge.kind, edge.live) > (drawn.kind, drawn.live):
                edge_of_pair[pair] = edge
        return tuple(
            Link(tail, head, edge.kind, self._label(edge), edge.live, self._severed(edge), edge.cause, edge.site)
            for (tail, head, _), edge in edge_of_pair.items()
            if edge.kind != "data" or (tail, head, True) not in edge_of_pair
        )

    def _versions(self, ids: dict[Key, int]) -> Iterator[Link]:
        """Between two boxes one link, with the versions from the first write to the last."""
        pairs: dict[tuple[int, int], list[VersionEdge]] = {}
        for edge in self.report.version_edges:
            ends = [ids.get(self.keys.get(node, ())) for node in (edge.source, edge.target)]
            if ends[0] is not None and ends[1] is not None and ends[0] != ends[1]:
                pairs.setdefault((ends[0], ends[1]), []).append(edge)
        for (tail, head), edges in pairs.items():
            span = VersionEdge(tail, head, min(e.before for e in edges), max(e.after for e in edges))
            yield Link(tail, head, "modified", span.said, live=True, tone=self._tone_of(edges))

    def _tone_of(self, edges: list[VersionEdge]) -> Tone:
        return worst(*(self._tone([self.nodes[edge.source]]) for edge in edges)) or "warning"

    def _severed(self, edge: GraphEdge) -> Tone:
        return self.alarms.at(edge.site) if edge.kind == "severed" and edge.live else ""

    def _label(self, edge: GraphEdge) -> str:
        location = self.capture.place(edge.site)
        if edge.kind != "severed":
            return ""
        return edge.cause if location is None else f"{edge.cause}\n{location.place}"


def _few(crowds: dict[Crowd, list[int]]) -> dict[Crowd, list[int]]:
    """Where there are very many, those of a kind as one: more boxes than that nobody looks at one by one."""
    if len(crowds) <= _CROWDS:
        return crowds
    alike: dict[Crowd, list[int]] = {}
    for (kind, tracked, _), numbers in crowds.items():
        alike.setdefault((kind, tracked, ""), []).extend(numbers)
    return alike
