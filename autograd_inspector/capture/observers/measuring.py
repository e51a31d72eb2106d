"""Has a capture's vitals told what it meets: names and places, memory, what passes through the nodes of a backward."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Protocol

from autograd_inspector.capture.recording.raw_records import OP_CALL, OP_NAME, OP_SITE
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import gradient_of
from autograd_inspector.capture.vitals.allocations import Peak
from autograd_inspector.capture.vitals.collector import Capturing, Vitals
from autograd_inspector.capture.vitals.memory import Place


class Naming(Protocol):
    """Who knows the models."""

    def name_of(self, tensor: int, /) -> str:
        """What it calls a tensor."""

    def label_of(self, model: int, /) -> str:
        """What it calls a model."""


class Hooks(Protocol):
    """The inspector's hooks on the nodes of one run."""

    def put(self, node: Any, look: Callable[[Any, Any], None], /) -> None:
        """Have ``look`` see what a node passed on, and what it was given."""


def measure_in(recording: Recording, modules: Naming, vitals: Vitals) -> None:
    """A capture begins."""
    place_of = partial(_place, recording, modules)
    vitals.begin(Capturing(modules.name_of, modules.label_of, recording.ops.__len__, place_of, recording.note))
    recording.registry.met = vitals.met


def watch_memory(recording: Recording, vitals: Vitals, nodes: Iterable[tuple[int, Any]], hooks: Hooks) -> None:
    """Have the vitals see the gradients that pass through the nodes of a graph, and those that leaves get."""
    for number, node in nodes:
        record = recording.recorded.nodes[number]
        if record.variable >= 0:
            hooks.put(node, partial(_arrived, recording, vitals, record.variable))
        else:
            hooks.put(node, partial(_passed, vitals, record.op))


def _passed(vitals: Vitals, op: int, passed_on: Any, received: Any) -> None:
    vitals.passed(op, (*received, *passed_on))


def _arrived(recording: Recording, vitals: Vitals, leaf: int, _: Any, received: Any) -> None:
    entry = recording.registry.entries.get(leaf)
    tensor = None if entry is None else entry()
    vitals.passed(-1, (*received, None if tensor is None else gradient_of(tensor)))


def _place(recording: Recording, modules: Naming, peak: Peak) -> Place:
    # What is met when an op has been recorded is of that op: the state that a step makes.
    record = recording.ops.get(min(peak.op, len(recording.ops) - 1)) if peak.op >= 0 else None
    if record is None:
        return Place()
    call = recording.calls.get(record[OP_CALL]) if record[OP_CALL] >= 0 else None
    path = "" if call is None else ".".join(filter(None, (modules.label_of(call.root), call.path)))
    what = f"backward of {record[OP_NAME]}" if peak.backward else record[OP_NAME]
    return Place(f"{what} in {path}" if path else what, record[OP_SITE])
