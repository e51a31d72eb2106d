"""Live autograd nodes -> records, iteratively and no deeper than is safe."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Any

from msgspec.structs import replace
from torch import Tensor
from torch.autograd.function import BackwardCFunction

from autograd_inspector.capture.graph_walk.ctx import ctx_tensors
from autograd_inspector.capture.graph_walk.known_nodes import Known
from autograd_inspector.capture.graph_walk.regions import Borders
from autograd_inspector.capture.graph_walk.stand_ins import StandIns
from autograd_inspector.capture.graph_walk.verdicts import freed, tells_of, unused, verify
from autograd_inspector.capture.recording.raw_records import OP_INPUTS, OP_OUTPUTS
from autograd_inspector.capture.recording.recorded_nodes import Met, Recorded, Walked
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.recording.walk_budget import MAX_DEPTH, MAX_WIDTH
from autograd_inspector.capture.tensors.attributes import device_of, dtype_of, shape_of, span_of, version_of
from autograd_inspector.capture.torch_private.graph import RAW, RAW_OF_FUNCTIONS, SAVED_READABLE
from autograd_inspector.messages import message_of
from autograd_inspector.model.autograd import (
    LEAF_SEQUENCE,
    AutogradGraph,
    GraphHead,
    Node,
    SavedTensor,
)

_BY_NONE = (-1, -1)
"""(op, position) of a node that no op made."""
_OF_FUNCTIONS = ((RAW_OF_FUNCTIONS, RAW_OF_FUNCTIONS.removeprefix(RAW)),)


class Walk:
    """One walk from some roots: consumers before producers, in descending order of sequence numbers."""

    def __init__(self, recording: Recording, *, keep: bool = False) -> None:
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
        self._bounds = recording.sequence_bounds()
        recording.ledger.update(recording)
        recording.recorded.look(recording)

    def graph(self, roots: Iterable[Any]) -> AutogradGraph:
        """All nodes below the given grad_fn nodes as they are now, whatever is recorded of them."""
        walked = self._walk(roots, None)
        alone = tuple([node for node in walked.met if isinstance(node, Node)])
        blind = any(node.blind for node in alone) if self._ends else False
        return AutogradGraph(alone, tuple(walked.starts), bool(self._ends), blind)

    def record(self, roots: Iterable[Any]) -> GraphHead:
        """Record what is new of the graph below the given grad_fn nodes."""
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

    def _walk(self, roots: Iterable[Any], recorded: Recorded | None) -> Walked:
        numbers: dict[Any, int] = {}
        depths: dict[int, int] = {}
        heap: list[tuple[int, int, Any]] = []
        floor = LEAF_SEQUENCE if self.recording.recorded.exhausted else 0
        roots = list(roots)
        self._borders.begin_at(roots)
        starts = [self._see(root, 0, numbers, depths, heap) for root in roots]
        met: dict[int, Met] = {}
        in_turn = True
        known_nodes = None
        if recorded is not None and not self.keep:
            known_nodes = Known(recorded, self.describe, self.recording.id_of)
        while heap:
            key, number, node = heapq.heappop(heap)
            leaf = key == LEAF_SEQUENCE
            sequence, depth = key if leaf else -key, depths[number]
            recorded_number = None if known_nodes is None or leaf else known_nodes.number(node, sequence, depth)
            if recorded_number is not None:
                met[number] = recorded_number
                continue
            made = _BY_NONE if leaf else self._op_at(sequence)
            edges: list[tuple[int, int]] = []
            if made[0] >= 0 and self._too_wide(made[0]):
                self._ends[number] = depth
            elif not leaf and (depth >= MAX_DEPTH or sequence < floor):
                # Another path may lead below this node: nothing older is opened either.
                self._ends[number], floor = depth, max(floor, sequence)
            else:
                for child, slot in self._borders.edges(node):
                    if child is not None:
                        place = self._see(child, depth + 1, numbers, depths, heap)
                        edges.append((place, slot))
                        in_turn = in_turn and place not in met  # Each thread has its own sequence numbers.
            met[number] = self._described(number, node, sequence, made, tuple(edges))
            if self.keep and not leaf:
                self._keep(number, node)
        ordered = [met[i] for i in range(len(numbers))]
        if self._ends:
            below = StandIns(self.recording, ordered, recorded)
            below.below(self._ends)
            self.leaves |= self.recording.registry.alive(below.leaves)
            in_turn = False
        order = [*reversed(met)] if in_turn else None
        return Walked(ordered, starts, [depths[i] for i in range(len(numbers))], order)

    def _keep(self, number: int, node: Any) -> None:
        if node in self._borders.inner:
            self.inside[node] = number
        else:
            self.live.append((number, node))

    def _too_wide(self, op: int) -> bool:
        """Opening a node meets all its inputs at once; they may be one chain, as the steps of a loop are."""
        return len(self.recording.ops[op][OP_INPUTS]) > MAX_WIDTH

    def _see(
        self, node: Any, depth: int, numbers: dict[Any, int], depths: dict[int, int], heap: list[tuple[int, int, Any]]
    ) -> int:
        number = numbers.get(node)
        if number is None:
            number = numbers[node] = len(numbers)
            depths[number] = depth
            sequence = node._sequence_nr()
            heapq.heappush(heap, (LEAF_SEQUENCE if sequence == LEAF_SEQUENCE else -sequence, number, node))
        elif depth > depths[number]:
            depths[number] = depth
        return number

    def describe(self, node: Any) -> Node:
        """The record of a node as it is now, wherever it leads."""
        sequence = node._sequence_nr()
        return self._described(-1, node, sequence, _BY_NONE if sequence == LEAF_SEQUENCE else self._op_at(sequence), ())

    def _described(
        self, number: int, node: Any, sequence: int, made: tuple[int, int], edges: tuple[tuple[int, int], ...]
    ) -> Node:
        name = node.name()
        op, position = made
        variable = -1
        if sequence == LEAF_SEQUENCE:
            leaf = getattr(node, "variable", None)
            if isinstance(leaf, Tensor):
                variable = self.recording.id_of(leaf)
                self.leaves[variable] = leaf
        if self._borders.inner and node in self._borders.inner:
            return Node(number, name, sequence, edges, op, variable, position)
        saved: list[SavedTensor] = []
        kind = type(node)
        for attribute, saved_name in _saved_attributes(kind):
            try:
                raw = getattr(node, attribute)
            except RuntimeError as error:
                if op < 0 and "freed" in message_of(error):
                    saved.append(freed(saved_name))
                continue  # A custom Function that saved nothing, or one whose buffers backward has freed.
            self._saved(node, saved_name, raw, made, saved)
        if issubclass(kind, BackwardCFunction):
            for attribute, tensor in ctx_tensors(node):
                saved.append(self._unchecked(attribute, tensor, made))
        return Node(number, name, sequence, edges, op, variable, position, tuple(saved))

    def _op_at(self, sequence: int) -> tuple[int, int]:
        """The op that made the node, and how many ops had run by then."""
        starts, ends, indices = self._bounds
        at = bisect_right(starts, sequence) - 1
        if at < 0:
            return -1, 0 if starts else -1
        if sequence < ends[at]:
            return indices[at], indices[at]
        return -1, indices[at] + 1

    def _saved(self, node: Any, name: str, raw: Any, made: tuple[int, int], into: list[SavedTensor]) -> None:
        if isinstance(raw, (tuple, list)):
            # The node tells of all of them at once: of one without a hook it would run the hooks of the others.
            ask = all(item.unpack_hook is None for item in raw)
            for number, item in enumerate(raw):
                self._one(node, f"{name}[{number}]", item, made, into, ask=ask)
        else:
            self._one(node, name, raw, made, into)

    def _one(
        self, node: Any, name: str, raw: Any, made: tuple[int, int], into: list[SavedTensor], *, ask: bool = True
    ) -> None:
        if raw.unpack_hook is not None:
            into.append(SavedTensor(name, -1, (), "", "", 0, -1, 0, 0, "packed"))
            return
        tensor = raw.data
        if tensor is None:
            if ask and made[0] < 0 and verify(node, name)[0] == "freed":
                into.append(freed(name))
            return
        kept = self._unchecked(name, tensor, made)
        ledger = self.recording.ledger
        version, saved = kept.current_version, kept.saved_version
        counter = ledger.counter_of(kept.tensor, kept.storage)
        # An op that modifies what it saved (`x *= x`) may have saved it before or after, and a graph from before the
        # capture may have been edited before it: only autograd knows.
        if saved != version or ledger.moved(counter, made[0]) or (version and made[1] <= 0 > made[0]):
            status, verdict, expected = verify(node, name) if ask else ("unverifiable", "", None)
            if status == "modified" and not tells_of(verdict, version):
                status, verdict = "valid", ""  # A custom Function unpacks all at once: another one was modified.
            saved = version if status == "valid" else expected
            kept = replace(kept, status=status, saved_version=saved, verdict=verdict)
        into.append(replace(kept, unused=True) if unused(node, name) else kept)

    def _unchecked(self, name: str, tensor: Tensor, made: tuple[int, int]) -> SavedTensor:
        """A tensor that a node keeps, with the version that the ledger says it had when the node was made."""
        registry, ledger = self.recording.registry, self.recording.ledger
        entry = registry.entry_of(tensor)
        storage = registry.storage_of(tensor)
        number = self._result(made[0], storage) if entry is None else entry.tensor
        offset, extent, nbytes = span_of(tensor)
        saved, version = ledger.expected(ledger.counter_of(number, storage), *made), version_of(tensor)
        return SavedTensor(
            name,
            number,
            tuple(shape_of(tensor)),
            short(dtype_of(tensor)),
            short(device_of(tensor)),
            nbytes,
            storage,
            offset,
            extent,
            "valid",
            0 if saved is None and version == 0 else saved,  # A counter that has not moved yet had not then either.
            version,
        )

    def _result(self, op: int, storage: int) -> int:
        """What an op returned that has a version counter of its own (``x.data.tanh_()``); -1 for any other op.

        Autograd keeps another object of what a node returned than the program has, with the same counter.
        """
        ledger, entries = self.recording.ledger, self.recording.registry.entries
        if op < 0 or not ledger.has_aliases:
            return -1
        made = self.recording.ops.get(op)
        of_memory = (n for n in (made[OP_OUTPUTS] if made else ()) if n in entries and entries[n].storage == storage)
        return next((number for number in of_memory if ledger.counter_of(number, storage) != storage), -1)


@cache
def short(value: Any) -> str:
    """The name of a dtype or device, without ``torch.``: one string for each."""
    return str(value).removeprefix("torch.")


def _saved_attributes(kind: type) -> tuple[tuple[str, str], ...]:
    """(attribute, name of what it holds)."""
    # The class of a custom Function's node is the program's own: a cache would keep it alive.
    if not SAVED_READABLE:
        return ()
    return _OF_FUNCTIONS if issubclass(kind, BackwardCFunction) else _of_kind(kind)  # type: ignore[arg-type]


def raw_saved(node: Any) -> Iterator[tuple[str, Any]]:
    """(name, its unpack hook) of all that a node saves, or has saved until a backward freed it."""
    for attribute, name in _saved_attributes(type(node)):
        try:
            raw = getattr(node, attribute)
        except RuntimeError:
            yield name, None
            continue
        for item in raw if isinstance(raw, (tuple, list)) else (raw,):
            yield name, item.unpack_hook


@lru_cache(maxsize=1024)
def _of_kind(kind: type) -> tuple[tuple[str, str], ...]:
    return tuple([(name, name.removeprefix(RAW)) for name in dir(kind) if name.startswith(RAW)])
