"""The graphs of engine runs, which may share nodes: an unrolled loop differentiates one graph again and again."""

from __future__ import annotations

import heapq
import operator
from array import array
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, MutableSequence, Sequence
from functools import cached_property
from itertools import compress
from typing import Generic, Protocol, TypeVar

from msgspec.structs import replace

from autograd_inspector.model.autograd import AutogradGraph, Backward, GraphHead, Node

K = TypeVar("K", bound=Hashable)


class Nodes(Protocol):
    """Nodes by their numbers."""

    def __getitem__(self, index: int, /) -> Node: ...


def below(nodes: Nodes, starts: Iterable[int], excluded: Container[int] = ()) -> list[int]:
    """The nodes that some nodes lead to, themselves included, without those ``excluded`` and what these alone reach."""
    reached = [start for start in dict.fromkeys(starts) if start not in excluded]
    seen = set(reached)
    for number in reached:  # It grows on the way.
        for child, _ in nodes[number].edges:
            if child not in seen and child not in excluded:
                seen.add(child)
                reached.append(child)
    return reached


def _marked(nodes: Nodes, starts: Iterable[int], marks: MutableSequence[int], mark: int) -> list[int]:
    """The nodes below some that have no mark yet, as they are met; now they have that one."""
    reached: list[int] = []
    for start in starts:
        if marks[start] < 0:
            marks[start] = mark
            reached.append(start)
    for number in reached:  # It grows on the way.
        for child, _ in nodes[number].edges:
            if marks[child] < 0:
                marks[child] = mark
                reached.append(child)
    return reached


def in_order(nodes: Nodes, roots: Iterable[int]) -> list[int]:
    """The nodes below some roots as a walk meets them: consumers before producers, leaves last."""
    order: dict[int, None] = {}
    heap: list[tuple[bool, int, int, int]] = []

    def see(number: int) -> None:
        if number not in order:
            node = nodes[number]
            heapq.heappush(heap, (node.leaf, -node.seq, len(order), number))
            order[number] = None

    for root in roots:
        see(root)
    while heap:
        for child, _ in nodes[heapq.heappop(heap)[-1]].edges:
            see(child)
    return list(order)


def graph_below(nodes: Nodes, head: GraphHead) -> AutogradGraph:
    """The graph of one run by itself."""
    numbers = {number: place for place, number in enumerate(in_order(nodes, head.roots))}
    renumbered = [
        replace(node, index=place, edges=tuple([(numbers[child], slot) for child, slot in node.edges]))
        for place, node in enumerate(map(nodes.__getitem__, numbers))
    ]
    return AutogradGraph(tuple(renumbered), tuple([numbers[root] for root in head.roots]), head.truncated, head.blind)


class Below:
    """A number that sums up all nodes at and below one: each node is gone through once, wherever one begins to ask.

    ``number_of``: the number of a node by itself; ``join``: that of several together. Equal numbers are one object.
    """

    def __init__(self, nodes: Nodes, number_of: Callable[[Node], int], join: Callable[[int, int], int]) -> None:
        self._nodes, self._number_of, self._join = nodes, number_of, join
        self._cached: dict[int, int] = {}
        self._one: dict[int, int] = {}

    def at(self, start: int) -> int:
        """The number of that node and all below it."""
        cached, nodes = self._cached, self._nodes
        todo = [start]
        while todo:
            number = todo[-1]
            if number in cached:
                todo.pop()
                continue
            node = nodes[number]
            missing = [child for child, _ in node.edges if child not in cached]
            if missing:
                todo += missing
                continue
            joined = self._number_of(node)
            for child, _ in node.edges:
                joined = self._join(joined, cached[child])
            cached[number] = self._one.setdefault(joined, joined)
            todo.pop()
        return cached[start]


class KindsBelow(Generic[K]):
    """Which kinds of nodes are at and below some: a set of kinds is an integer, one bit a kind."""

    def __init__(self, nodes: Nodes, kind: Callable[[Node], K | None]) -> None:
        self._nodes, self._kind = nodes, kind
        self.forget()

    def of(self, starts: Iterable[int]) -> frozenset[K]:
        """The kinds of those nodes and of all below them."""
        bits = 0
        for start in starts:
            bits |= self._below.at(start)
        if bits not in self._sets:
            digits = bin(bits)[:1:-1]
            self._sets[bits] = frozenset(compress(self._bits, [digit == "1" for digit in digits]))
        return self._sets[bits]

    def _bit_of(self, node: Node) -> int:
        kind = self._kind(node)
        return 0 if kind is None else 1 << self._bits.setdefault(kind, len(self._bits))

    def forget(self) -> None:
        """The nodes are others from now on."""
        self._below = Below(self._nodes, self._bit_of, operator.or_)
        self._bits: dict[K, int] = {}
        self._sets: dict[int, frozenset[K]] = {}


def leaves_below(nodes: Nodes) -> KindsBelow[int]:
    """The variables of the leaves below nodes."""
    return KindsBelow(nodes, lambda node: node.variable if node.variable >= 0 else None)


class RunGraphs:
    """Some runs of a capture, in order, with what each adds to the graphs of those before it.

    What holds of a node whichever run meets it needs a look at the new nodes of each run alone.
    """

    def __init__(self, nodes: Sequence[Node], runs: Iterable[Backward]) -> None:
        self.runs, self.nodes = tuple(runs), nodes
        self._first = array("q", [-1]) * len(nodes)
        """Of each node the first of the runs that has it, by its place among them."""
        self._new: list[list[int]] = []
        for place, run in enumerate(self.runs):
            self._new.append(_marked(nodes, run.graph.roots, self._first, place))
        self._leaves = leaves_below(nodes)
        self._last = array("q")
        self._whole: tuple[int, frozenset[int]] = (-1, frozenset())

    def __iter__(self) -> Iterator[tuple[Backward, list[Node]]]:
        """(run, its new nodes)."""
        for place, run in enumerate(self.runs):
            yield run, self.new(place)

    def new(self, place: int) -> list[Node]:
        """The nodes that no earlier run has, as they are numbered."""
        return [self.nodes[number] for number in sorted(self._new[place])]

    def whole(self, place: int) -> list[Node]:
        """All nodes of that run, as a walk meets them."""
        return [self.nodes[number] for number in in_order(self.nodes, self.runs[place].graph.roots)]

    def leaves(self, place: int) -> frozenset[int]:
        """The variables of all leaves of that run's graph."""
        return self._leaves.of(self.runs[place].graph.roots)

    @cached_property
    def above(self) -> dict[int, list[int]]:
        """Node -> the nodes whose edges lead to it."""
        parents: dict[int, list[int]] = {}
        for node in self.nodes:
            for child, _ in node.edges:
                parents.setdefault(child, []).append(node.index)
        return parents

    def last(self, node: int) -> int:
        """The place of the last run that has a node; -1: none has."""
        if not self._last:
            self._last = array("q", [-1]) * len(self.nodes)
            for place in reversed(range(len(self.runs))):
                _marked(self.nodes, self.runs[place].graph.roots, self._last, place)
        return self._last[node] if 0 <= node < len(self._last) else -1

    @cached_property
    def first_through(self) -> dict[int, Backward]:
        """Op -> the first run that went through what it recorded."""
        first: dict[int, Backward] = {}
        for run, nodes in self:
            for node in nodes:
                first.setdefault(node.op, run)
        return first

    def in_one(self, node: int) -> bool:
        """Whether one run has a node, and no other."""
        return self._first_of(node) == self.last(node) >= 0

    def has(self, place: int, node: int) -> bool:
        """Whether a run's graph has a node."""
        first, last = self._first_of(node), self.last(node)
        if not first <= place <= last or first < 0:
            return False
        return place in {first, last} or node in self._closure(place)

    def _first_of(self, node: int) -> int:
        return self._first[node] if 0 <= node < len(self._first) else -1

    def _closure(self, place: int) -> frozenset[int]:
        if self._whole[0] != place:
            self._whole = place, frozenset(below(self.nodes, self.runs[place].graph.roots))
        return self._whole[1]
