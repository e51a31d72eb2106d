"""How much memory activation checkpointing would free: counted from what the graph of a step holds.

A checkpoint (`torch.utils.checkpoint`) keeps the tensors that a module is given, and none that its forward saves for
backward; backward runs the forward again, and then these are there until it has gone through that module.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest

from autograd_inspector.model.autograd import AutogradGraph, SavedTensor
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.checkpoint_saving import CheckpointSaving
from autograd_inspector.model.display_names import unwrapped
from autograd_inspector.model.memory import distinct_bytes
from autograd_inspector.model.op import Trait
from autograd_inspector.model.tensor import TensorRecord

Place = tuple[int, str]
"""The root and the path of a module."""

_LEAST = 0.01
"""Of what the graph holds: less is not worth a second forward."""
_MOST = 40
"""How many choices are counted: those that save the most before what is shared is known."""


def checkpoint_savings(capture: Capture) -> tuple[CheckpointSaving, ...]:
    """One entry a module, and one for all siblings of a class; the largest saving first, 40 at most, none below 1 %.

    Of the graph that holds the most. A model as a whole is left out: in backward all of it would be there again.
    """
    graphs = [capture.graph_of(run) for run in capture.backwards if run.api != "alive"]
    if not graphs:
        return ()
    held = [_bytes(capture, (saved for node in graph.nodes for saved in node.saved)) for graph in graphs]
    largest = max(range(len(graphs)), key=lambda n: (held[n], n))
    found = _Modules(capture, graphs[largest])
    choices = nlargest(_MOST, _choices(found), key=found.sum)
    savings = (_saving(capture, found, places, held[largest]) for places in choices)
    return tuple(sorted((one for one in savings if one.freed >= _LEAST * one.before), key=lambda one: -one.freed))


class _Modules:
    """What each module of a graph saved, was given, and ran."""

    def __init__(self, capture: Capture, graph: AutogradGraph) -> None:
        self.types: dict[Place, str] = {}
        self.saved: dict[Place, set[int]] = defaultdict(set)
        """Numbers of the graph's nodes."""
        self.ops: dict[Place, set[int]] = defaultdict(set)
        self.graph = graph
        calls: dict[int, tuple[Place, ...]] = {}
        for number, node in enumerate(graph.nodes):
            if node.op < 0:
                continue
            call = capture.ops[node.op].call
            if call not in calls:
                calls[call] = self._around(capture, call)
            for place in calls[call]:
                self.saved[place].add(number)
        for op in capture.ops:
            if not op.has(Trait.BACKWARD):
                for place in calls.get(op.call, ()):
                    self.ops[place].add(op.index)

    def sum(self, places: Sequence[Place]) -> int:
        """The bytes of what they saved, shared ones counted several times."""
        nodes = (self.graph.nodes[number] for place in places for number in self.saved[place])
        return sum(saved.nbytes for node in nodes for saved in node.saved)

    def _around(self, capture: Capture, call: int) -> tuple[Place, ...]:
        """The modules that a call ran in, from the inside out."""
        found: list[Place] = []
        for record in capture.calls_around(call):
            if record.path and record.root >= 0:
                found.append((record.root, record.path))
                self.types[found[-1]] = record.type
        return tuple(found)


def _choices(found: _Modules) -> Iterator[tuple[Place, ...]]:
    """Each module, and all of one class in one container."""
    siblings: dict[tuple[int, str, str], list[Place]] = defaultdict(list)
    for place, kind in found.types.items():
        yield (place,)
        root, path = place
        siblings[root, path.rpartition(".")[0], kind].append(place)
    yield from (tuple(places) for places in siblings.values() if len(places) > 1)


def _saving(capture: Capture, found: _Modules, places: Sequence[Place], before: int) -> CheckpointSaving:
    nodes = found.graph.nodes
    inside = {number for place in places for number in found.saved[place]}
    outside = [saved for number, node in enumerate(nodes) if number not in inside for saved in node.saved]
    kept = [*outside, *(given for place in places for given in _given(capture, found.ops[place]))]
    held = _bytes(capture, kept)
    again = (
        _bytes(capture, [*kept, *(saved for number in found.saved[place] for saved in nodes[number].saved)])
        for place in places
    )
    return CheckpointSaving(
        modules=tuple(_path(capture, place) for place in places),
        type=found.types[places[0]],
        before=before,
        held=held,
        peak=max(again),
        ops=sum(len(found.ops[place]) for place in places),
    )


def _path(capture: Capture, place: Place) -> str:
    root, path = place
    name = capture.models[root] if root < len(capture.models) else ""
    return ".".join(filter(None, (name, unwrapped(path))))


def _given(capture: Capture, ops: set[int]) -> Iterator[SavedTensor]:
    """The tensors that these ops read and did not make."""
    met: set[int] = set()
    for op in ops:
        for tensor in capture.ops[op].inputs:
            record = capture.tensors[tensor]
            if tensor in met or record.of_model or record.birth in ops:
                continue
            met.add(tensor)
            yield _as_saved(record)


def _as_saved(record: TensorRecord) -> SavedTensor:
    return SavedTensor(
        name="",
        tensor=record.id,
        shape=record.shape,
        dtype=record.dtype,
        device=record.device,
        nbytes=record.nbytes,
        storage=record.storage,
        offset=record.offset,
        extent=record.extent,
        status="valid",
    )


def _bytes(capture: Capture, saved: Iterable[SavedTensor]) -> int:
    return distinct_bytes(saved, capture.stored)
