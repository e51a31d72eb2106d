"""The graph folded by module: one branch a call, equal neighbours as one branch."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import pairwise

from msgspec import Struct

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.model.autograd import SavedTensor
from autograd_inspector.model.graph import GraphNode
from autograd_inspector.model.memory import Held
from autograd_inspector.model.wording import join_names
from autograd_inspector.views.display_text import listed, shown
from autograd_inspector.views.summaries.alarms import Alarms, Tone, worst

_NUMBER = re.compile(r"\d+")
_PLACES = 3
_NAMES = 6
_RUN = 2
"""Names that are no shorter with an ellipsis between them."""
DEEPEST = 40
"""Levels of module calls that are shown one in the other; what runs deeper, in a module that calls itself, is there."""

Mark = tuple[str, str, Tone]
"""(what, at which lines, how bad it is)"""


class Branch(Struct, frozen=True):
    """One module call, or ``times`` neighbouring ones of the same make, with all that ran inside.

    ``name`` is how its parent calls it ("h.0 … h.11"), ``ops`` what ran in it directly, ``total`` with its
    children; ``nbytes`` of what it and they have saved, each byte once, parameters left out; ``marks`` what is special
    about its own ops.
    ``source``: it is a line of the program, in no module, and ``type`` is its text.
    """

    name: str
    type: str
    times: int
    ops: str
    total: int
    nodes: int
    nbytes: int
    marks: tuple[Mark, ...]
    children: tuple[Branch, ...]
    recomputed: bool = False
    source: bool = False

    @property
    def alarming(self) -> bool:
        """Whether something went wrong in it or below."""
        return any(tone for _, _, tone in self.marks) or any(child.alarming for child in self.children)


def branches(report: ReportData) -> tuple[Branch, ...]:
    """The root module calls, then what ran outside of any module; each in program order."""
    return _Tree(report).roots()


class _Tree:
    def __init__(self, report: ReportData) -> None:
        graph, capture = report.graph, report.capture
        self.capture = capture
        self.alarms = Alarms(report)
        self.nodes_of_call: defaultdict[int, list[GraphNode]] = defaultdict(list)
        self.cuts: defaultdict[int, list[tuple[str, int, bool]]] = defaultdict(list)
        self.children: defaultdict[int, list[int]] = defaultdict(list)
        self.special = {node.id for node in graph.nodes if _special(node)}
        self.kept: dict[int, Held] = {}
        self.lists: dict[tuple[str, ...], str] = {}
        self.parameters = frozenset(t.storage for t in capture.tensors if t.kind == "parameter")
        home = self.home = self.homes()
        for node in graph.nodes:
            if not node.leaf:
                self.nodes_of_call[home[node.call]].append(node)
        for edge in graph.severed:
            self.cuts[edge.target].append((edge.cause, edge.site, edge.live))
            self.special.add(edge.target)
        for call in capture.calls:
            if home[call.id] == call.id:
                self.children[call.parent].append(call.id)

    def homes(self) -> dict[int, int]:
        """The call that shows what ran in a call: itself, or the one around it that is as deep as any is shown."""
        homes, depth = {-1: -1}, {-1: 0}
        for call in self.capture.calls:
            outer = homes[call.parent]
            homes[call.id] = call.id if depth[outer] < DEEPEST else outer
            depth[call.id] = depth[outer] + 1
        return homes

    def roots(self) -> tuple[Branch, ...]:
        branch_of_call: dict[int, Branch] = {}
        # A child is called after its parent, so from the last call to the first every child is there already.
        for call in reversed(self.capture.calls):
            if self.home[call.id] != call.id:
                continue
            below = [branch_of_call.pop(child) for child in self.children[call.id] if child in branch_of_call]
            branch = self.branch(call.id, below)
            if branch.total:
                branch_of_call[call.id] = branch
        top = [branch_of_call[call] for call in self.children[-1] if call in branch_of_call]
        return (*folded(top), *self.outside())

    def branch(self, call: int, below: list[Branch]) -> Branch:
        record = self.capture.calls[call]
        nodes = self.nodes_of_call[call]
        kept = self.kept[call] = self.held(nodes)
        for child in self.children.pop(call, ()):  # The result of one is often what the next one saves of its input.
            kept.take(self.kept.pop(child))
        outer = self.capture.calls[record.parent] if record.parent >= 0 else None
        return Branch(
            self.capture.display_names.within(record, outer),
            record.type,
            1,
            self.listed(nodes),
            len(nodes) + sum(b.total * b.times for b in below),
            sum(len(n.grad_fns) for n in nodes) + sum(b.nodes * b.times for b in below),
            kept.nbytes,
            self.marks(nodes),
            folded(below),
            any(n.recomputed for n in nodes),
        )

    def outside(self) -> list[Branch]:
        """Ops that ran in no module, by the line that called them."""
        lines: dict[tuple[str, str], list[GraphNode]] = {}
        for node in self.nodes_of_call[-1]:
            location = self.capture.place(node.site)
            key = ("", "") if location is None else (location.place, location.source)
            lines.setdefault(key, []).append(node)
        return [
            Branch(
                place or "elsewhere",
                source,
                1,
                self.listed(nodes),
                len(nodes),
                sum(len(n.grad_fns) for n in nodes),
                self.held(nodes).nbytes,
                self.marks(nodes),
                (),
                all(n.recomputed for n in nodes),
                source=True,
            )
            for (place, source), nodes in lines.items()
        ]

    def listed(self, nodes: list[GraphNode]) -> str:
        """Layers of one make run the same ops: the text is made once."""
        names = tuple([node.name for node in nodes])
        text = self.lists.get(names)
        if text is None:
            text = self.lists[names] = listed(list(names))
        return text

    def held(self, nodes: list[GraphNode]) -> Held:
        return Held([saved for node in nodes for saved in node.saved], self.parameters)

    def marks(self, nodes: list[GraphNode]) -> tuple[Mark, ...]:
        marks: list[Mark] = []
        cuts: dict[tuple[str, bool], Counter[int]] = {}
        for node in nodes:
            if node.id not in self.special:
                continue
            for cause, site, live in self.cuts.get(node.id, ()):
                cuts.setdefault((cause, live), Counter())[site] += 1
            tone = self.alarms.at(node.site, "error")
            marks += [(f"saved {s.name} {story(s)}", self.place(node.site), tone) for s in node.modified]
            if node.failed:
                marks.append(("backward failed here", self.place(node.site), "error"))
            if node.error:
                fatal = self.capture.error.startswith(node.error)
                marks.append((f"raised {shown(node.error)}", self.place(node.site), "error" if fatal else ""))
            if node.hooks:
                marks.append((f"hooks on {node.name}", "", ""))
        for (cause, live), sites in cuts.items():
            places = list(dict.fromkeys(map(self.place, sites)))
            cut = worst(*map(self.alarms.at, sites)) if live else ""
            marks.append((f"cut: {cause}", join_names(places, _PLACES), cut))
        return tuple(dict.fromkeys(marks))

    def place(self, site: int) -> str:
        location = self.capture.place(site)
        return "" if location is None else location.place


def _special(node: GraphNode) -> bool:
    return bool(node.failed or node.error or node.hooks or node.modified)


def story(saved: SavedTensor) -> str:
    """``v0, now v2``, or what else became of a saved tensor."""
    if saved.status != "modified":
        return saved.status
    return f"v{'?' if saved.saved_version is None else saved.saved_version}, now v{saved.current_version}"


def folded(siblings: list[Branch]) -> tuple[Branch, ...]:
    """Neighbours that differ in their names only, as one branch."""
    groups: list[tuple[Branch, list[str]]] = []
    for branch in siblings:
        if groups and _same(groups[-1][0], branch):
            groups[-1][1].append(branch.name)
        else:
            groups.append((branch, [branch.name]))
    return tuple(_several(branch, names) for branch, names in groups)


def _same(one: Branch, other: Branch) -> bool:
    return (
        one.type == other.type
        and one.total == other.total
        and one.ops == other.ops
        and one.marks == other.marks
        and one.children == other.children
        and _NUMBER.sub("#", one.name) == _NUMBER.sub("#", other.name)
    )


def _several(branch: Branch, names: list[str]) -> Branch:
    if len(names) == 1:
        return branch
    name = names[0] if len({*names}) == 1 else _run_of(names)
    total = {field: getattr(branch, field) for field in branch.__struct_fields__}
    return Branch(**(total | {"name": name, "times": len(names)}))


def _run_of(names: list[str]) -> str:
    """``h.0 … h.11`` where the numbers rise one by one, else each name in the order of the calls."""
    numbers = [[int(number) for number in _NUMBER.findall(name)] for name in names]
    steps = {tuple(b - a for a, b in zip(one, other, strict=False)) for one, other in pairwise(numbers)}
    rising = len(steps) == 1 and sum(next(iter(steps))) == max(next(iter(steps))) == 1
    return f"{names[0]} … {names[-1]}" if rising and len(names) > _RUN else join_names(names, _NAMES)
