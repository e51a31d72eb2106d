"""Runs whose graph nobody walked, because they were like one that had been walked: told once somebody asks.

A flight recorder walks the graphs of a training's first steps. A later run that follows as many ops as the one before,
from the same line, most likely is the same again; its graph is needed only if something raises. Then the records of ops
tell of those that came to their end, and autograd's own nodes of the one that did not, from what is still alive.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from msgspec.structs import replace
from torch import Tensor

from autograd_inspector.capture.graph_walk.stand_ins import StandIns
from autograd_inspector.capture.recording.raw_records import OP_TRAITS
from autograd_inspector.capture.recording.recorded_nodes import Met, Walked
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.autograd import AutogradGraph, Backward, Node
from autograd_inspector.model.graphs import below
from autograd_inspector.model.op import Trait

_FUNCTION = int(Trait.FUNCTION)
TOLD_BY_OPS = (
    "The graphs of {count} earlier backward() calls were not walked: the records of torch calls stand in for "
    "autograd's nodes."
)


class _Start(NamedTuple):
    """From where a run starts. Of two that are equal the later one most likely repeats the other."""

    site: int
    ops: int
    """So many have run since the run before."""


class Repeats:
    """Which runs repeat one that was walked."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._reached: dict[_Start, tuple[int, ...]] = {}
        """What the last run that was walked, and came to its end, had reached from there."""

    def leaves(self, site: int) -> dict[int, Tensor] | None:
        """The leaves that a run from there is to reach if it repeats an earlier one; None: it is to be walked."""
        recording = self._recording
        reached = self._reached.get(_Start(site, self._ops_before(len(recording.backwards), len(recording.ops))))
        return None if reached is None else dict(recording.registry.alive(reached))

    def ended(self, run: Backward) -> None:
        """Remember a run that was walked and came to its end, unless its graph is one of those to walk each time.

        A custom Function and hooks on what is saved (activation checkpointing) run code of the program's: what it does
        there is told node by node.
        """
        if run.index in self._recording.unwalked:
            return
        start = _Start(run.site, self._ops_before(run.index, run.start))
        self._reached.pop(start, None)
        if run.error or run.retain_graph or run.create_graph or run.graph.truncated or len(run.roots) != 1:
            return
        nodes = self._recording.recorded.nodes
        if not any(self._is_own(nodes[number]) for number in below(nodes, run.graph.roots)):
            self._reached[start] = run.reached

    def _is_own(self, node: Node) -> bool:
        if node.leaf:
            return False
        if node.op < 0 or any(saved.status != "valid" for saved in node.saved):
            return True
        return bool(self._recording.ops[node.op][OP_TRAITS] & _FUNCTION)

    def _ops_before(self, run: int, now: int) -> int:
        before = self._recording.backwards.get(run - 1) if run else None
        return -1 if before is None else now - before.end


def tell_by_ops(recording: Recording, *, but: int = -1) -> None:
    """Give each unwalked run, ``but`` one, the graph that the records of ops tell of."""
    untold = [number for number in recording.unwalked if number != but]
    if not untold:
        return
    recording.unwalked = [number for number in recording.unwalked if number == but]
    recording.note(TOLD_BY_OPS.format(count=len(untold)))
    recording.lineage.update(recording)
    for number in untold:
        run = recording.backwards[number]
        nodes: list[Met] = []
        origins = [recording.lineage.origin(recording, root, run.start) for root in run.roots]
        stand_ins = StandIns(recording, nodes, recording.recorded)
        starts = stand_ins.behind(origin for origin in origins if origin is not None)
        numbers, head = recording.recorded.add(Walked(nodes, starts))
        told = (recording.recorded.nodes[each].variable for each in sorted(numbers))
        reached = tuple(dict.fromkeys(variable for variable in told if variable >= 0)) or run.reached
        # As many ops may lead elsewhere: what was looked at and not reached tells nothing of this run.
        looked_at = {name: tuple(t for t in getattr(run, name) if t in reached) for name in ("empty", "taken", "stale")}
        recording.backwards[number] = replace(run, graph=head, reached=reached, **looked_at)


def as_it_began(recording: Recording, number: int, graph: AutogradGraph) -> AutogradGraph:
    """The graph of an unwalked run that raised, as it was when it began: what it freed itself was held then."""
    earlier = [run for _, run in recording.backwards.items() if run.index < number and run.completed]
    spent = _ops_through(recording, [run for run in earlier if not run.retain_graph and not run.create_graph])
    return replace(graph, nodes=tuple([node if node.op in spent else _held(node) for node in graph.nodes]))


def _ops_through(recording: Recording, runs: Collection[Backward]) -> set[int]:
    """The ops whose nodes those runs went through."""
    nodes = recording.recorded.nodes
    return {nodes[number].op for number in below(nodes, [root for run in runs for root in run.graph.roots])}


def _held(node: Node) -> Node:
    saved = [replace(each, status="valid") if each.status == "freed" else each for each in node.saved]
    return replace(node, saved=tuple(saved))
