"""Live autograd nodes -> records, iteratively and no deeper than is safe."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import Any

from torch import Tensor
from torch.autograd.function import BackwardCFunction

from autograd_inspector.capture.graph_walk.known_nodes import Known
from autograd_inspector.capture.graph_walk.regions import Borders, Edge
from autograd_inspector.capture.graph_walk.saved_tensors import SavedTensors
from autograd_inspector.capture.graph_walk.stand_ins import StandIns
from autograd_inspector.capture.recording.nodes_elsewhere import Elsewhere
from autograd_inspector.capture.recording.raw_records import OP_INPUTS
from autograd_inspector.capture.recording.recorded_nodes import Met, Recorded, Walked
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.recording.walk_budget import MAX_DEPTH, MAX_WIDTH
from autograd_inspector.model.autograd import LEAF_SEQUENCE, AutogradGraph, GraphHead, Node, SavedTensor

_BY_NONE = (-1, -1)
"""(op, position) of a node that no op made."""
_NONE: tuple[SavedTensor, ...] = ()


class Walk:
    """One walk from some roots: consumers before producers, in descending order of sequence numbers."""

    usual: Callable[..., bool] | None = None
    """In C: what the loop of ``_walk`` does, up to the first node that it has to do itself."""

    def __init__(self, recording: Recording, *, keep: bool = False, late: bool = False) -> None:
        self.recording = recording
        self.keep = keep or recording.values is not None or recording.vitals is not None
        self.live: list[tuple[int, Any]] = []
        """The nodes themselves, to ``keep`` or to read values; whoever asked for the walk drops them at once."""
        self.inside: dict[Any, int] = {}
        """The nodes inside compiled regions, on the same terms."""
        self.leaves: dict[int, Tensor] = {}
        """Those that the walk met."""
        self.stopped: list[int] = []
        """The recorded nodes that it did not go below."""
        self._borders = Borders()
        self._ends: dict[int, int] = {}
        """Nodes that were not opened -> how deep they lie."""
        self._names = recording.recorded.names
        self._bounds = recording.bounds_here()
        recording.ledger.update(recording)
        recording.recorded.look(recording)
        self._saved = SavedTensors(recording, late=late)

    def graph(self, roots: Iterable[Edge]) -> AutogradGraph:
        """All nodes below the given results of grad_fn nodes as they are now, whatever is recorded of them."""
        walked = self._walk(roots, None)
        alone = tuple([node for node in walked.met if isinstance(node, Node)])
        blind = any(node.blind for node in alone) if self._ends else False
        return AutogradGraph(alone, tuple(walked.starts), bool(self._ends), blind)

    def record(self, roots: Iterable[Edge]) -> GraphHead:
        """Record what is new of the graph below the given results of grad_fn nodes."""
        recorded = self.recording.recorded
        walked = self._walk(roots, recorded)
        numbers, head = recorded.add(walked)
        self.stopped = [node for node in walked.met if isinstance(node, int)]
        self.live = [(numbers[place], node) for place, node in self.live]
        self.inside = {node: numbers[place] for node, place in self.inside.items()}
        if self._ends:
            ends = {numbers[end]: depth for end, depth in self._ends.items()}
            self.recording.cutoffs.add(self.recording, self.recording.recorded, head, ends)
        return head

    def _walk(  # noqa: C901, PLR0912, PLR0915 - each call that it would make costs every node
        self, roots: Iterable[Edge], recorded: Recorded | None
    ) -> Walked:
        numbers: dict[Any, int] = {}
        depths: list[int] = []
        heap: list[tuple[int, int, Any]] = []
        floor = LEAF_SEQUENCE if self.recording.recorded.exhausted else 0
        roots, borders = list(roots), self._borders
        borders.begin_at(roots)
        starts = []
        for root, _ in roots:
            place = numbers.setdefault(root, len(depths))
            starts.append(place)
            if place == len(depths):
                depths.append(0)
                sequence = root._sequence_nr()
                heappush(heap, (LEAF_SEQUENCE if sequence == LEAF_SEQUENCE else -sequence, place, root))
        met: dict[int, Met] = {}
        in_turn = True
        known_nodes, newest = None, -1
        if recorded is not None and not self.keep:
            known_nodes, newest = Known(recorded, self.describe, self.recording.id_of), recorded.newest
        made, low, high, wide = _BY_NONE, -1, -1, False
        keep, described, ends = self.keep, self._described, self._ends
        names, idle, saved_of = self._names, self._saved.idle, self._saved.of
        elsewhere = self.recording.recorded.elsewhere
        foreign: dict[int, Elsewhere] = {}
        if elsewhere:
            foreign |= self._foreign_roots(roots, starts)
        usual = None if elsewhere else self.usual
        while heap:
            if usual is not None and not borders.inner:
                in_turn &= usual(numbers, depths, heap, met, floor, newest, MAX_DEPTH, MAX_WIDTH)
                if not heap:
                    break
            key, number, node = heappop(heap)
            leaf = key == LEAF_SEQUENCE
            sequence, depth = key if leaf else -key, depths[number]
            if known_nodes is not None and sequence <= newest:
                recorded_number = known_nodes.number(node, sequence, depth)
                if recorded_number is not None:
                    met[number] = recorded_number
                    continue
            if leaf:
                made, wide, low, high = _BY_NONE, False, -1, -1
            elif number in foreign and not self._is_known(node, sequence, depth):
                low, high, made, wide = -1, -1, self._op_elsewhere(sequence, foreign[number]), False
            elif not low <= sequence < high:
                foreign.pop(number, None)
                low, high, made = self._op_at(sequence)
                wide = made[0] >= 0 and self._too_wide(made[0])
            edges: list[tuple[int, int]] = []
            if wide:
                ends[number] = depth
            elif not leaf and (depth >= MAX_DEPTH or sequence < floor):
                # Another path may lead below this node: nothing older is opened either.
                ends[number], floor = depth, max(floor, sequence)
            else:
                depth += 1
                told = borders.possible
                for child, slot in borders.edges(node) if told else node.next_functions:
                    if child is None:
                        continue
                    if not told and isinstance(child, BackwardCFunction):
                        borders.led(child, slot)
                    place = numbers.get(child, -1)
                    if place < 0:
                        place = numbers[child] = len(depths)
                        depths.append(depth)
                        below = child._sequence_nr()
                        heappush(heap, (LEAF_SEQUENCE if below == LEAF_SEQUENCE else -below, place, child))
                    else:
                        depths[place] = max(depths[place], depth)
                        if place in met:
                            in_turn = False  # Each thread has its own sequence numbers.
                    edges.append((place, slot))
                    if elsewhere and place not in met:
                        by = foreign[number] if number in foreign else self._by_elsewhere(child, made[0])
                        if by is not None:
                            foreign[place] = by
            if leaf or borders.inner:
                met[number] = described(number, node, sequence, made, tuple(edges))
            else:
                name = node.name()
                saved = _NONE if type(node) in idle else saved_of(node, made)
                met[number] = Node(
                    number, names.setdefault(name, name), sequence, tuple(edges), made[0], -1, made[1], saved
                )
            if keep and not leaf:
                self._keep(number, node)
        ordered = [*map(met.__getitem__, range(len(depths)))]
        if self._ends:
            stand_ins = StandIns(self.recording, ordered, recorded)
            stand_ins.below(self._ends)
            self.leaves |= self.recording.registry.alive(stand_ins.leaves)
            in_turn = False
        order = [*reversed(met)] if in_turn else None
        return Walked(ordered, starts, depths, order)

    def _foreign_roots(self, roots: list[Edge], starts: list[int]) -> dict[int, Elsewhere]:
        elsewhere = self.recording.recorded.elsewhere
        found = (
            (start, elsewhere.of(root, root._sequence_nr(), None))
            for start, (root, _) in zip(starts, roots, strict=True)
        )
        return {start: made for start, made in found if made is not None}

    def _by_elsewhere(self, node: Any, reader: int) -> Elsewhere | None:
        """What made a node that the result of an op leads to, where a thread of the engine's made it."""
        read = self.recording.ops[reader][OP_INPUTS] if reader >= 0 else None
        return self.recording.recorded.elsewhere.of(node, node._sequence_nr(), read)

    def _op_elsewhere(self, sequence: int, run: Elsewhere) -> tuple[int, int]:
        """What made a node of a run that another thread made: the op that ran there, or the run itself."""
        for starts, ends, indices in self.recording.bounds_elsewhere():
            at = bisect_right(starts, sequence) - 1
            if at >= 0 and sequence < ends[at] and run.start <= indices[at] < run.end:
                return indices[at], indices[at]
        return run.op, run.end

    def _is_known(self, node: Any, sequence: int, depth: int) -> bool:
        """Whether a node below such a result is one of the graph that the run went through."""
        recorded = self.recording.recorded
        return Known(recorded, self.describe, self.recording.id_of).number(node, sequence, depth) is not None

    def _keep(self, number: int, node: Any) -> None:
        if node in self._borders.inner:
            self.inside[node] = number
        else:
            self.live.append((number, node))

    def _too_wide(self, op: int) -> bool:
        """Opening a node meets all its inputs at once; they may be one chain, as the steps of a loop are."""
        return len(self.recording.ops[op][OP_INPUTS]) > MAX_WIDTH

    def describe(self, node: Any) -> Node:
        """The record of a node as it is now, wherever it leads."""
        sequence = node._sequence_nr()
        return self._described(
            -1, node, sequence, _BY_NONE if sequence == LEAF_SEQUENCE else self._op_at(sequence)[-1], ()
        )

    def _described(
        self, number: int, node: Any, sequence: int, made: tuple[int, int], edges: tuple[tuple[int, int], ...]
    ) -> Node:
        name, variable = node.name(), -1
        name = self._names.setdefault(name, name)
        if sequence == LEAF_SEQUENCE:
            leaf = getattr(node, "variable", None)
            if isinstance(leaf, Tensor):
                variable = self.recording.id_of(leaf)
                self.leaves[variable] = leaf
        inner = self._borders.inner
        saved = _NONE if inner and node in inner else self._saved.of(node, made)
        return Node(number, name, sequence, edges, made[0], variable, made[1], saved)

    def _op_at(self, sequence: int) -> tuple[int, int, tuple[int, int]]:
        """Of the nodes from one sequence number up to another: the op that made them, and how many had run by then."""
        starts, ends, indices = self._bounds
        at = bisect_right(starts, sequence) - 1
        if at < 0:
            return 0, starts[0] if starts else LEAF_SEQUENCE, (-1, 0 if starts else -1)
        if sequence < ends[at]:
            return starts[at], ends[at], (indices[at], indices[at])
        following = starts[at + 1] if at + 1 < len(starts) else LEAF_SEQUENCE
        return ends[at], following, (-1, indices[at] + 1)
