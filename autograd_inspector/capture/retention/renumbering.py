"""A folded recording numbered from 0 again, so that indices are places in tuples, as readers of a capture expect."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar, get_args

from msgspec import Struct
from msgspec.structs import replace

from autograd_inspector.capture.observers.modules.calls import Modules
from autograd_inspector.capture.recording.raw_records import RawOp
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.recording.window import Window
from autograd_inspector.model.autograd import Backward, GraphHead, Node, SavedTensor
from autograd_inspector.model.event import (
    GradRead,
    GradWrite,
    ParameterReplacement,
    ParameterStep,
    RequiresGradChanged,
    Step,
    TensorHook,
)
from autograd_inspector.model.op import ModuleCall, Region, Write
from autograd_inspector.model.placement_rows import OptimizerRecord, ParameterRow, StateEntry
from autograd_inspector.model.program_events import Event
from autograd_inspector.model.steps_history import History, StepChange
from autograd_inspector.model.values import GradientFault, LeafValues, Range, ValueFault

S = TypeVar("S", bound=Struct)

_OF_EVENTS = {
    "at": "position",
    "tensor": "tensor",
    "tensors": "tensors",
    "returned": "tensors",
    "results": "tensors",
    "ignored": "tensors",
    "pairs": "sets of tensors",
    "optimizer": "optimizer",
    "held": "optimizer",
    "model": "model",
    "into": "model",
    "run": "backward",
    "until": "position",
    "applied": "op",
    "kept_by": "op",
    "within": "call",
}
FIELDS: dict[type[Struct], dict[str, str]] = {
    Write: {"tensor": "tensor"},
    ModuleCall: {"id": "call", "root": "model", "parent": "call", "at": "position"},
    Region: {"id": "region", "at": "position"},
    SavedTensor: {"tensor": "tensor"},
    Node: {
        "index": "node",
        "edges": "edges",
        "op": "op",
        "variable": "tensor",
        "position": "position",
        "saved": "records",
    },
    GraphHead: {"roots": "nodes"},
    Backward: {
        "index": "backward",
        "start": "position",
        "end": "position",
        "roots": "tensors",
        "graph": "record",
        "reached": "tensors",
        "empty": "tensors",
        "stale": "tensors",
        "taken": "tensors",
        "untouched": "tensors",
        "weights": "tensors",
        "nested_in": "backward",
    },
    ParameterStep: {"tensor": "tensor", "gradient": "tensor"},
    Step: {"at": "position", "optimizer": "optimizer", "op": "op", "parameters": "records", "start": "position"},
    GradRead: {"at": "position", "tensor": "tensor", "gradient": "tensor"},
    GradWrite: {"at": "position", "tensor": "tensor", "gradient": "tensor"},
    TensorHook: {"at": "position", "tensor": "tensor", "run": "backward"},
    RequiresGradChanged: {"at": "position", "tensor": "tensor"},
    ParameterReplacement: {
        "at": "position",
        "model": "model",
        "replaced": "named",
        "gone": "named",
        "added": "named",
        "altered": "named",
    },
    Range: {"tensor": "tensor"},
    ValueFault: {"op": "op", "outputs": "records", "inputs": "records", "met_by": "op", "weights": "records"},
    GradientFault: {"backward": "backward", "node": "node", "ranges": "records"},
    LeafValues: {"backward": "backward", "tensor": "tensor"},
    StateEntry: {"tensor": "tensor"},
    ParameterRow: {"tensor": "tensor", "optimizer": "optimizer", "state": "records"},
    OptimizerRecord: {"id": "optimizer", "parameters": "groups", "created_at": "position"},
    StepChange: {"lost": "tensors", "gained": "tensors"},
    History: {
        "sets": "sets of tensors",
        "stepping": "sets of optimizers",
        "changes": "records",
        "reached": "tensors",
        "used": "tensors",
    },
    **{
        kind: {name: what for name, what in _OF_EVENTS.items() if name in kind.__struct_fields__}
        for kind in get_args(Event)
    },
}
"""Of each record the fields that point somewhere, and at what. What points at something that was folded becomes -1."""


class Numbers:
    """Old number -> new one, for each kind of thing that records point at."""

    def __init__(self, recording: Recording, modules: Modules) -> None:
        self.ops = [index for index, _ in recording.ops.items()]
        self.of: dict[str, dict[int, int]] = {
            "op": {index: place for place, index in enumerate(self.ops)},
            "tensor": _places(recording.registry.entries),
            "call": _places(recording.calls),
            "region": _places(recording.regions),
            "backward": _places(recording.backwards),
            "node": _places(recording.recorded.nodes),
            "model": {number: place for place, number in enumerate(modules.roots)},
            "optimizer": {number: place for place, number in enumerate(sorted(recording.optimizers))},
        }
        self._ways: dict[str, Callable[[Any], Any]] = {
            "position": self.position,
            "record": self.record,
            "records": self.records,
            "tensors": self.tensors,
            "nodes": lambda nodes: tuple([self.of["node"][node] for node in nodes]),
            "edges": lambda edges: tuple([(self.of["node"][child], slot) for child, slot in edges]),
            "groups": lambda groups: tuple(map(self.tensors, groups)),
            "sets of tensors": partial(self._sets, "tensor"),
            "sets of optimizers": partial(self._sets, "optimizer"),
            "named": self._named,
        }

    def position(self, at: int) -> int:
        """How many of the ops that are left lie before that one; never 0 for what the capture saw begin later."""
        return min(at, max(bisect_left(self.ops, at), 1))

    def record(self, record: S) -> S:
        """The same record, pointing at the new numbers."""
        kinds = FIELDS[type(record)]
        return replace(record, **{name: self.value(kind, getattr(record, name)) for name, kind in kinds.items()})

    def value(self, kind: str, value: Any) -> Any:
        """The value of a field of that kind."""
        of = self.of.get(kind)
        return self._ways[kind](value) if of is None else of.get(value, -1)

    def records(self, records: Iterable[S]) -> tuple[S, ...]:
        """Each of them."""
        return tuple(map(self.record, records))

    def tensors(self, tensors: Iterable[int]) -> tuple[int, ...]:
        """Those that are left."""
        of = self.of["tensor"]
        return tuple(of[tensor] for tensor in tensors if tensor in of)

    def op(self, raw: RawOp) -> RawOp:
        """A raw op; inputs that are gone go with their versions."""
        name, inputs, versions, outputs, writes, site, call, region, *rest = raw
        of = self.of["tensor"]
        if versions:
            pairs = [pair for pair in zip(inputs, versions, strict=True) if pair[0] in of]
            versions = tuple(version for _, version in pairs)
            inputs = tuple(tensor for tensor, _ in pairs)
        renumbered_writes = tuple(self.record(write) for write in writes)
        where = (site, self.of["call"].get(call, -1), self.of["region"].get(region, 0))
        return (name, self.tensors(inputs), versions, self.tensors(outputs), renumbered_writes, *where, *rest)  # type: ignore[return-value]

    def _sets(self, kind: str, sets: Iterable[Iterable[int]]) -> tuple[tuple[int, ...], ...]:
        """Sets keep their sizes: what is gone counts."""
        of = self.of[kind]
        return tuple([tuple([of.get(member, -1) for member in members]) for members in sets])

    def _named(self, named: Iterable[Iterable[Any]]) -> tuple[tuple[Any, ...], ...]:
        """(name, tensor, tensor or text ...) each."""
        of = self.of["tensor"]
        return tuple([tuple([of.get(p, -1) if isinstance(p, int) else p for p in parts]) for parts in named])


def settle(recording: Recording, modules: Modules, history: History) -> History:
    """Number it anew, and the names that modules gave to its tensors; returns the history so numbered."""
    numbers = Numbers(recording, modules)
    tensor, model = numbers.of["tensor"], numbers.of["model"]
    recording.ops.settle([numbers.op(raw) for raw in recording.ops])
    recording.calls.settle([numbers.record(call) for call in recording.calls])
    recording.regions.settle([numbers.record(region) for region in recording.regions])
    recording.recorded.nodes.settle([numbers.record(node) for node in recording.recorded.nodes])
    recording.backwards.settle([numbers.record(run) for run in recording.backwards])
    lists: tuple[list[Any], ...] = (
        recording.steps,
        recording.grad_reads,
        recording.grad_writes,
        recording.tensor_hooks,
        recording.requires_grad_changes,
        recording.events,
        recording.replacements,
        *(
            (recording.values.faults, recording.values.gradient_faults, recording.values.leaves)
            if recording.values
            else ()
        ),
    )
    for records in lists:
        records[:] = map(numbers.record, records)
    optimizer, op = numbers.of["optimizer"], numbers.of["op"]
    recording.state_owners.settle(optimizer)
    recording.optimizers = {
        optimizer[number]: numbers.record(record) for number, record in recording.optimizers.items()
    }
    recording.rows = {optimizer[number]: [*map(numbers.record, rows)] for number, rows in recording.rows.items()}
    recording.scalar_reentries = [
        (op[at], op[taken]) for at, taken in recording.scalar_reentries if at in op and taken in op
    ]
    recording.number_arguments, recording.scales = _keyed(recording.number_arguments, op), _keyed(recording.scales, op)
    recording.variables = _keyed(recording.variables, tensor)
    recording.alive = numbers.tensors(recording.alive)
    recording.error_tensor = tensor.get(recording.error_tensor, -1)
    recording.kept.piled = [
        (tensor[number], numbers.position(met)) for number, met in recording.kept.piled if number in tensor
    ]
    if recording.values is not None:
        recording.values.bad = set(numbers.tensors(recording.values.bad))
    if recording.vitals is not None:
        recording.vitals.settle(tensor)
    recording.ledger.settle(tensor)
    recording.registry.settle(tensor, op, numbers.position)
    modules.settle(tensor, model)
    return numbers.record(history)


def _places(window: Window[Any]) -> dict[int, int]:
    return {index: place for place, (index, _) in enumerate(window.items())}


V = TypeVar("V")


def _keyed(table: Mapping[int, V], numbers: Mapping[int, int]) -> dict[int, V]:
    return {numbers[key]: value for key, value in table.items() if key in numbers}
