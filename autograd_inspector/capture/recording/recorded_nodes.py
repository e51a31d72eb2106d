"""The nodes that the walks of one capture have recorded, each once, and which of them may have changed since.

A graph that grows is walked again and again. The edges of a node never change; what it saved does, where backward frees
it or the program modifies it. Until then a later walk may stop at the node: all below it is known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from autograd_inspector.capture.recording.late_graphs import LateGraph, LateGraphs
from autograd_inspector.capture.recording.node_keys import NodeKeys
from autograd_inspector.capture.recording.nodes_elsewhere import NodesElsewhere
from autograd_inspector.capture.recording.raw_records import OP_WRITES
from autograd_inspector.capture.recording.records import Records
from autograd_inspector.capture.recording.walk_budget import MAX_TOTAL
from autograd_inspector.capture.recording.window import Window
from autograd_inspector.model.autograd import LEAF_SEQUENCE, GraphHead, Node
from autograd_inspector.model.graphs import leaves_below

Met = Node | int
"""What a walk met: a node whose edges are places in the walk, or the number of one that is recorded."""
_NEW = -1


class Walked(NamedTuple):
    """What one walk met, the places of its roots, and how deep the first of them lie.

    ``order``: the places, producers before consumers, where the walk knows.
    """

    met: Sequence[Met]
    starts: Sequence[int]
    depths: Sequence[int] = ()
    order: Sequence[int] | None = None


class Recorded:
    """Numbers nodes in the order in which they are met. Keeps records only, no node of autograd's."""

    def __init__(self) -> None:
        self.nodes: Window[Node] = Window()
        self.exhausted = False
        """Walks that continue each other have met as many nodes along a path as may be met."""
        self.names: dict[str, str] = {}
        """Of the nodes of all walks: autograd writes each name anew when asked, and equal ones are kept once."""
        self.leaves = leaves_below(self.nodes)
        self.elsewhere = NodesElsewhere()
        self._by_key = NodeKeys(self.nodes)
        self._leaf: dict[int, list[int]] = {}
        self._op: dict[int, int] = {}
        """Op -> the node of its result: of those that it made, the one made last. Asked of deep graphs alone."""
        self._nodes_read = 0
        self._apart: set[int] = set()
        """Nodes that no later walk is to find."""
        self._above: dict[int, list[int]] = {}
        self._heights: dict[int, int] = {}
        """The most nodes of autograd's own that were met along a path below, itself included."""
        self._partial: dict[int, int] = {}
        """Nodes below which a walk did not come to the end -> how deep they lay in it."""
        self._blind: set[int] = set()
        """Nodes below which something is unknown."""
        self._inert: set[int] = set()
        """Nodes with nothing saved at and below them: nothing there can change."""
        self._saving: dict[int, set[int]] = {}
        """Storage -> the nodes that saved something in it."""
        self._stale: set[int] = set()
        """Nodes at or below which something may have changed since they were looked at."""
        self._seen = 0
        self._late = LateGraphs()
        """Those of whose nodes all the above is not known yet."""
        self._newest = -1

    @property
    def newest(self) -> int:
        """No node that a walk may find has a higher sequence number."""
        return self._newest

    def candidates(self, sequence: int, name: str, depth: int) -> list[int]:
        """The nodes that may be the one of that number and name, below which a walk at that depth learns no more."""
        self._catch_up()
        same_key = self._by_key.of(sequence, name)
        return [n for n in same_key if n not in self._stale and self._partial.get(n, 0) <= depth]

    def of_op(self, op: int) -> int | None:
        """The node of an op's result."""
        self._catch_up()
        for number, node in self.nodes.items(self._nodes_read):
            if node.op >= 0 and number not in self._apart:
                other = self._op.get(node.op)
                if other is None or _told_better(node, self.nodes[other]):
                    self._op[node.op] = number
        self._nodes_read = len(self.nodes)
        number = self._op.get(op, -1)
        return None if number < 0 or number in self._stale else number

    def of_leaf(self, variable: int) -> int | None:
        """The node of a leaf."""
        return next(iter(self._leaf.get(variable, ())), None)

    def look(self, recording: Records) -> None:
        """What was written since the last look may have been saved."""
        if self._late.unspent:
            self._catch_up()
        touched: set[int] = set()
        for _, op in recording.ops.items(self._seen):
            for write in op[OP_WRITES]:
                if write.before != write.after:
                    touched |= self._saving.pop(write.storage, set())
        self._seen = len(recording.ops)
        self._outdate(touched)

    def spend(self, roots: Iterable[int], inputs: Sequence[Any] = ()) -> None:
        """A run went through the graph below those nodes, down to the ``inputs`` alone, and freed what they had saved.

        ``inputs`` are nodes of autograd's own, None for a leaf.
        """
        roots = tuple(roots)
        if not inputs and self._late.spend(roots):
            return
        self._catch_up()
        end = min([self._height(node) for node in inputs], default=0)
        todo = [root for root in roots if root not in self._inert]
        seen = set(todo)
        for number in todo:  # It grows on the way.
            for child, _ in self.nodes[number].edges:
                if child not in seen and child not in self._inert and self._heights[child] >= end:
                    seen.add(child)
                    todo.append(child)
        self._outdate(seen)

    def _height(self, node: Any) -> int:
        """No node that leads to that one has less; 0 where it is not known which one it is."""
        numbers = [] if node is None else self._by_key.of(node._sequence_nr(), node.name())
        return min([self._heights[number] for number in numbers], default=0)

    def _outdate(self, numbers: set[int]) -> None:
        """Those nodes are to be looked at again, and so are all above them, for they lead there."""
        stale, above = self._stale, self._above
        todo = [number for number in numbers if number not in stale]
        stale.update(todo)
        for number in todo:  # It grows on the way.
            for parent in above.get(number, ()):
                if parent not in stale:
                    stale.add(parent)
                    todo.append(parent)

    def add(self, walked: Walked, *, apart: bool = False) -> tuple[list[int], GraphHead]:
        """Record what a walk met; the number of each, and the head of the graph below its roots.

        ``apart``: no later walk is to find the new ones.
        """
        highest = -1 if apart else self._highest(walked)
        if highest >= 0:
            return self._add_whole(walked, highest)
        self._catch_up()
        met, depths = walked.met, walked.depths
        order = walked.order if walked.order is not None else _producers_first(met)
        numbers, met_again = self._numbers(met, order)
        if not apart:
            self._renew(met_again)
        fresh = [place for place, number in enumerate(numbers) if number == _NEW]
        # Numbered as they were met, consumers first.
        for number, place in enumerate(fresh, len(self.nodes)):
            numbers[place] = number
        first = len(self.nodes)
        as_met = not first and len(fresh) == len(met)  # Places are numbers then.
        made = [
            _placed(node, numbers[place], numbers, as_met=as_met)
            for place in fresh
            if isinstance(node := met[place], Node)
        ]
        for node in made:
            self.nodes.append(node)
        for place in order:
            if numbers[place] >= first:
                self._conclude(made[numbers[place] - first], depths[place] if place < len(depths) else 0)
        if apart:
            self._apart.update(range(first, len(self.nodes)))
        for node in () if apart else made:
            self._register(node)
            if self._newest < node.seq < LEAF_SEQUENCE:
                self._newest = node.seq
        roots = tuple([numbers[start] for start in walked.starts])
        truncated = any(root in self._partial for root in roots)
        return numbers, GraphHead(roots, truncated, any(root in self._blind for root in roots))

    def _highest(self, walked: Walked) -> int:
        """The highest sequence number of a graph of which leaves alone are recorded; -1: not sure, or too deep."""
        highest = self._newest
        if walked.order is None or len(walked.met) > MAX_TOTAL:
            return -1
        for node in walked.met:
            if isinstance(node, int) or node.seq <= self._newest or (node.seq == LEAF_SEQUENCE and node.edges):
                return -1
            if highest < node.seq < LEAF_SEQUENCE:
                highest = node.seq
        return highest

    def _add_whole(self, walked: Walked, highest: int) -> tuple[list[int], GraphHead]:
        nodes = [node for node in walked.met if isinstance(node, Node)]
        order = walked.order or ()
        numbers = [_NEW] * len(nodes)
        taken: set[int] = set()
        for place in order if self._leaf else ():
            if nodes[place].variable in self._leaf:
                numbers[place] = self._same(nodes[place], numbers, taken)
                taken.add(numbers[place])
        number = first = len(self.nodes)
        for place, known in enumerate(numbers):
            if known == _NEW:
                numbers[place] = number
                number += 1
        for place, node in enumerate(nodes):
            if numbers[place] >= first:
                new = _placed(node, numbers[place], numbers) if first else node
                self.nodes.append(new)
                if new.leaf:
                    self._conclude(new, walked.depths[place])
                    self._register(new)
        inner = [place for place in order if not nodes[place].leaf]
        roots = tuple([numbers[start] for start in walked.starts])
        self._newest = highest
        self._late.add(LateGraph([numbers[at] for at in inner], [walked.depths[at] for at in inner], roots))
        return numbers, GraphHead(roots)

    def _catch_up(self) -> None:
        """Work out what was left for later."""
        for graph in self._late.take():
            for number, depth in graph.nodes():
                self._conclude(self.nodes[number], depth)
            for number in sorted(graph.numbers):
                self._register(self.nodes[number])
            if graph.spent:
                self._stale.update([number for number in graph.numbers if number not in self._inert])

    def _numbers(self, met: Sequence[Met], order: Iterable[int]) -> tuple[list[int], set[int]]:
        """The numbers of those that are recorded as they are now, the others being new; which ones those are."""
        numbers = [each if isinstance(each, int) else _NEW for each in met]
        taken = set(numbers)
        for place in order:
            node = met[place]
            if isinstance(node, Node):
                number = numbers[place] = self._same(node, numbers, taken)
                taken.add(number)
        return numbers, taken

    def _renew(self, numbers: set[int]) -> None:
        """Those were looked at, and all that lies below them: they are as they are recorded."""
        for number in self._stale.intersection(numbers):
            self._stale.discard(number)
            self._watch(self.nodes[number])

    def _same(self, node: Node, numbers: list[int], taken: set[int]) -> int:
        candidates = self._leaf.get(node.variable, ()) if node.variable >= 0 else self._by_key.of(node.seq, node.name)
        if not candidates or any(numbers[child] == _NEW for child, _ in node.edges):
            return _NEW
        edges = tuple([(numbers[child], slot) for child, slot in node.edges])
        for number in candidates:
            if number not in taken and self.nodes[number].edges == edges and alike(self.nodes[number], node):
                return number
        return _NEW

    def _conclude(self, node: Node, depth: int) -> None:
        """What is true of a node because it is true of those below it."""
        number, heights, inert = node.index, self._heights, self._inert
        height, idle = 0, not node.saved
        for child, _ in node.edges:
            height = max(height, heights[child])
            idle = idle and child in inert
        heights[number] = height = height + node.met
        self.exhausted = self.exhausted or height > MAX_TOTAL
        if idle:
            inert.add(number)
        if node.variable >= 0 or not (self._partial or node.told_by != "node"):
            return
        children = [child for child, _ in node.edges]
        if node.told_by != "node" or not self._partial.keys().isdisjoint(children):
            self._partial[number] = depth
        if node.blind or not self._blind.isdisjoint(children):
            self._blind.add(number)

    def _register(self, node: Node) -> None:
        number, above, inert = node.index, self._above, self._inert
        for child, _ in node.edges:
            if child not in inert:
                above.setdefault(child, []).append(number)
        if node.variable >= 0:
            self._leaf.setdefault(node.variable, []).append(number)
        elif node.seq != LEAF_SEQUENCE:
            self._by_key.add(node, self._stale)
        if node.saved:
            self._watch(node)

    def _watch(self, node: Node) -> None:
        for saved in node.saved:
            nodes = self._saving.get(saved.storage)
            if nodes is not None:
                nodes.add(node.index)
            elif saved.storage >= 0:
                self._saving[saved.storage] = {node.index}

    def fold(self, keep: Collection[int]) -> None:
        """Forget all nodes but those."""
        if self._late.fold(keep):
            self._catch_up()
        self.nodes.fold(len(self.nodes), keep)
        self.leaves.forget()
        self._by_key.fold(keep)
        self._leaf = _kept_lists(self._leaf, keep)
        self._above = _kept_lists({node: above for node, above in self._above.items() if node in keep}, keep)
        self._op = {op: node for op, node in self._op.items() if node in keep}
        self._heights = {node: height for node, height in self._heights.items() if node in keep}
        self._partial = {node: depth for node, depth in self._partial.items() if node in keep}
        self._saving = {storage: left for storage, nodes in self._saving.items() if (left := nodes.intersection(keep))}
        for each in (self._blind, self._inert, self._stale, self._apart):
            each.intersection_update(keep)


def _placed(node: Node, number: int, numbers: Sequence[int], *, as_met: bool = False) -> Node:
    """The node under a number, given those of all that the walk met; the node itself where these are the places."""
    if as_met and node.index == number:
        return node
    return node.placed(number, tuple([(numbers[child], slot) for child, slot in node.edges]))


def alike(one: Node, other: Node, *, opened: bool = True) -> bool:
    """Whether two records say the same of a node, whatever lies below it. ``opened``: also of who tells what does."""
    same_content = one.saved == other.saved and (one.op, one.position, one.failed) == (
        other.op,
        other.position,
        other.failed,
    )
    return same_content and (not opened or (one.told_by, one.blind) == (other.told_by, other.blind))


def _told_better(node: Node, other: Node) -> bool:
    """Whether a node stands for the result of an op rather than another one of the op."""
    return (node.met, node.seq) >= (other.met, other.seq)


_WAITS, _FOLLOWED = 1, 2


def _producers_first(met: Sequence[Met]) -> list[int]:
    """The places of the nodes, each behind those that its edges lead to.

    There is no circle among nodes of torch's. What stands in for them is matched by sequence numbers, which each
    thread counts for itself: an edge that would lead back into what is being followed is not.
    """
    waiting = bytearray([isinstance(node, Node) for node in met])
    order: list[int] = []
    for start in reversed(range(len(met))):
        todo = [start]
        while todo:
            place = todo[-1]
            node = met[place]
            edges = node.edges if waiting[place] and isinstance(node, Node) else ()
            first = [child for child, _ in edges if waiting[child] == _WAITS]
            if first:
                waiting[place] = _FOLLOWED
                todo += first
                continue
            todo.pop()
            if waiting[place]:
                waiting[place] = 0
                order.append(place)
    return order


K = TypeVar("K")


def _kept_lists(lists: Mapping[K, list[int]], keep: Collection[int]) -> dict[K, list[int]]:
    return {key: left for key, numbers in lists.items() if (left := [number for number in numbers if number in keep])}
