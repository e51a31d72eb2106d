"""Lists of modules that have one module several times: where it stands, and whether its calls can differ at all."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.draws import draws
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.model.op import ModuleCall
from autograd_inspector.model.program_events import ModuleRepeated

_Place = tuple[int, str]
"""Index of the root, path."""


class Repeated(Struct, frozen=True):
    """One module that stands several times in a list.

    ``paths`` are its places. ``calls``: calls of it in one forward that all had the same inputs and drew no random
    numbers, so that they return the same; () where there is no forward in which that was so.
    """

    event: ModuleRepeated
    paths: tuple[str, ...]
    calls: tuple[ModuleCall, ...] = ()


def repeated_modules(analysis: Analysis) -> Iterator[Repeated]:
    """Each once, where its parameters require grad."""
    met: set[tuple[int, ...]] = set()
    tensors, calls = analysis.capture.tensors, Calls(analysis)
    for event in analysis.capture.events_of(ModuleRepeated):
        if event.tensors in met or not any(tensors[tensor].requires_grad for tensor in event.tensors):
            continue
        met.add(event.tensors)
        paths = _paths(tensors[event.tensors[0]].names)
        if len(paths) > 1:
            yield Repeated(event, paths, calls.alike(event.tensors[0]))


def _paths(names: tuple[str, ...]) -> tuple[str, ...]:
    """``layers.0``, ``layers.1`` of ``layers.0.weight`` and ``layers.1.weight``: up to where they differ."""
    parts = [name.split(".") for name in names]
    same = {len(part) for part in parts}
    if len(parts) < 2 or len(same) > 1:
        return ()
    differing = [at for at in range(same.pop()) if len({part[at] for part in parts}) > 1]
    return tuple(".".join(part[: differing[-1] + 1]) for part in parts) if differing else ()


class Calls:
    """What the calls of modules computed, by the inputs that they got from outside."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._capture = analysis.capture

    def alike(self, tensor: int) -> tuple[ModuleCall, ...]:
        """Calls of the module that has a parameter, by one caller, which all computed the same of the same."""
        capture = self._capture
        root = capture.owners.get(tensor, -1)
        if root < 0:
            return ()
        prefix = f"{capture.models[root]}."
        path = next(iter(_paths(tuple(name.removeprefix(prefix) for name in capture.tensors[tensor].names))), "")
        several = [
            calls
            for calls in grouped(self._at.get((root, path), ()), lambda call: call.parent).values()
            if len(calls) > 1
        ]
        alike = [calls for calls in several if len({self.computed(call) for call in calls}) == 1]
        told = alike and len(alike) == len(several) and self.computed(alike[0][0]) is not None
        return tuple(alike[0]) if told else ()

    @cached_property
    def _at(self) -> dict[_Place, list[ModuleCall]]:
        at: dict[_Place, list[ModuleCall]] = {}
        for call in self._capture.calls:
            at.setdefault((call.root, call.path), []).append(call)
        return at

    def computed(self, call: ModuleCall) -> tuple[object, ...] | None:
        """Its ops with what they read from outside; None where it computed nothing, or drew random numbers."""
        calls, ops = self._capture.calls, self._capture.ops
        within, made, computed = {call.id}, set[int](), list[object]()
        for number in range(call.id + 1, len(calls)):
            if calls[number].parent not in within:
                break
            within.add(number)
        for number in range(call.at, len(ops)):
            op = ops[number]
            if op.call not in within:
                break
            if draws(op):
                return None
            read = tuple(value for value in self._analysis.read_values.of(op) if value[0] not in made)
            computed.append((op.name, read))
            made.update(op.outputs)
        return tuple(computed) or None
