"""Reading values, only where the user opted in: who made the first NaN or Inf, who passed on a gradient of zeros."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Protocol

from torch import Tensor

from autograd_inspector.capture.recording.compiled_regions import inside_of
from autograd_inspector.capture.recording.inside_values import look_inside
from autograd_inspector.capture.recording.registry import Entry
from autograd_inspector.capture.tensors.attributes import dtype_of, version_of
from autograd_inspector.capture.tensors.reading import (
    any_nonzero,
    has_nan,
    is_continuous,
    norm,
    range_of,
    sound,
    whole,
)
from autograd_inspector.model.autograd import Node
from autograd_inspector.model.graphs import Nodes
from autograd_inspector.model.op import Write
from autograd_inspector.model.values import MOST_FAULTS, SATURATING, GradientFault, LeafValues, Range, ValueFault


class Hooks(Protocol):
    """The inspector's hooks on the nodes of one run."""

    def put(self, node: Any, look: Callable[[Any, Any], None], /) -> None:
        """Have ``look`` see what a node passed on, and what it was given."""


Edge = tuple[int, int]
"""A node, and which of the gradients that it is given."""
TensorsOf = Callable[[int], Iterable[tuple[int, Tensor]]]

_KEPT = 256
_LARGE = 2.0**11
"""Numbers from here on may have grown in the course of the training: float16 has lost its last whole place there."""


class _Looks:
    """What the gradients of one call of a hook hold. Each is asked for several times, and a look is a pass over it."""

    def __init__(self) -> None:
        self._sound: dict[int, bool] = {}
        self._nonzero: dict[int, bool] = {}

    def sound(self, gradient: Tensor) -> bool:
        """As ``reading.sound``."""
        known = self._sound.get(id(gradient))
        if known is None:
            known = self._sound[id(gradient)] = sound(gradient)
        return known

    def nonzero(self, gradient: Tensor) -> bool:
        """As ``reading.any_nonzero``."""
        known = self._nonzero.get(id(gradient))
        if known is None:
            known = self._nonzero[id(gradient)] = any_nonzero(gradient)
        return known


class Values:
    """Follows which tensors hold values that are not finite. Every look costs a pass over the tensor and a sync."""

    def __init__(self, parameters: Callable[[], Iterable[tuple[int, Tensor]]]) -> None:
        self._parameters = parameters
        """The parameters that are alive."""
        self._stepped: dict[int, int] = {}
        """Tensor -> the optimizer step that wrote it since the last look at it, as an op."""
        self.faults: list[ValueFault] = []
        self.gradient_faults: list[GradientFault] = []
        self.leaves: list[LeafValues] = []
        self.bad: set[int] = set()
        self._nan: set[int] = set()
        """Those of the bad that hold a NaN: an infinity may be meant, as in a mask, and make the NaN later."""
        self._seen: set[int] = set()
        self._extreme: dict[int, tuple[Range, ...]] = {}
        """Op that may saturate -> what it was given and made, where all its results are at the ends of their range."""

    def op(
        self,
        index: int,
        inputs: list[Tensor],
        entries: list[Entry],
        results: Iterable[tuple[int, Tensor]],
        name: str,
        writes: Iterable[Write] = (),
    ) -> None:
        """Look at what an op was given, returned and wrote."""
        input_numbers = {entry.tensor for entry in entries}
        for entry, tensor in zip(entries, inputs, strict=True):
            if entry.tensor not in self._seen and version_of(tensor) <= 0:
                self.arrived(entry.tensor, tensor, index)
        self._seen |= input_numbers
        after = {e.tensor: t for e, t in zip(entries, inputs, strict=True)}  # An op may write its inputs.
        made = dict(results)
        if name in SATURATING:
            before = [(entry.tensor, t) for entry, t in zip(entries, inputs, strict=True)]
            self._extreme[index] = _ranges((*before, *made.items())) if all(map(whole, made.values())) else ()
        after |= made
        produced = {*made, *(write.tensor for write in writes)}
        self._brought(index, [(number, after.pop(number)) for number in [*after] if number not in produced])
        tainted, poisoned = bool(self.bad & input_numbers), bool(self._nan & input_numbers)
        faulty_results = []
        for number, tensor in after.items():
            self._seen.add(number)
            if sound(tensor):
                self.bad.discard(number)
                self._nan.discard(number)
                continue
            nan = has_nan(tensor)
            if number not in self._nan and not poisoned and (nan or (number not in self.bad and not tainted)):
                faulty_results.append((number, tensor))
            self.bad.add(number)
            if nan:
                self._nan.add(number)
        if faulty_results and len(self.faults) < _KEPT:
            given_ranges = _ranges([(e.tensor, t) for e, t in zip(entries, inputs, strict=True)], counts=True)
            large = any(values.size > _LARGE for values in given_ranges if values.finite)
            weights = self._largest() if large else ()
            self.faults.append(ValueFault(index, _ranges(faulty_results), given_ranges, weights=weights))

    def stepped(self, index: int, tensors: Iterable[int]) -> None:
        """An optimizer step, the op of that index, wrote those tensors."""
        self._stepped |= dict.fromkeys(tensors, index)

    def _brought(self, index: int, inputs: list[tuple[int, Tensor]]) -> None:
        """What an op read and did not write is no product of its own: a step made it, or nothing that was seen."""
        faulty_by_step: dict[int, list[tuple[int, Tensor]]] = {}
        for number, tensor in inputs:
            step = self._stepped.pop(number, -1)
            if sound(tensor):
                self.bad.discard(number)
                self._nan.discard(number)
                continue
            if number in self._nan:
                continue
            nan = has_nan(tensor)
            if nan or number not in self.bad:
                faulty_by_step.setdefault(step, []).append((number, tensor))
            self.bad.add(number)
            if nan:
                self._nan.add(number)
        for step, tensors in faulty_by_step.items():
            if len(self.faults) < _KEPT:
                met = index if step < 0 else -1
                self.faults.append(ValueFault(step, _ranges(tensors), met_by=met))

    def _largest(self) -> tuple[Range, ...]:
        """The parameter with the largest value, of those that can be read."""
        ranges = _ranges(self._parameters())
        return (max(ranges, key=lambda values: values.size),) if ranges else ()

    def arrived(self, number: int, tensor: Tensor, index: int) -> None:
        """A tensor that no op of the capture made, met by the op of that index."""
        if not sound(tensor):
            self.bad.add(number)
            if has_nan(tensor):
                self._nan.add(number)
            if len(self.faults) < _KEPT:
                self.faults.append(ValueFault(-1, _ranges([(number, tensor)]), met_by=index))

    def fold(self, tensors: set[int], backwards: set[int]) -> None:
        """Forget what was found in other runs of the engine, and other tensors."""
        self.gradient_faults = [fault for fault in self.gradient_faults if fault.backward in backwards]
        self.leaves = [leaf for leaf in self.leaves if leaf.backward in backwards]
        self.bad &= tensors
        self._nan &= tensors
        self._seen &= tensors
        self._stepped = {tensor: step for tensor, step in self._stepped.items() if tensor in tensors}
        self._extreme = dict([*self._extreme.items()][-_KEPT:])

    def watch(
        self,
        run: int,
        records: Nodes,
        nodes: Iterable[tuple[int, Any]],
        arrived: set[Edge],
        tensors_of: TensorsOf,
        hooks: Hooks,
        inside: Mapping[Any, int],
    ) -> None:
        """Put hooks on the nodes of a graph, given their records, which look at what passes through them.

        ``arrived``: where the run begins with a gradient other than zeros. ``tensors_of`` tells which of an op's
        tensors the program or the graph still holds. ``inside``: the nodes within compiled regions.
        """

        def observer_of(number: int, node: Any) -> _NodeObserver:
            record = records[number]
            look = partial(self._around, record.op, tensors_of)
            return _NodeObserver(self, run, number, arrived, _edges(record, node), look)

        for number, node in nodes:
            look = observer_of(number, node)
            if inside and inside_of(node) is not None:
                look_within = partial(look_inside, node, inside, observer_of)
                hooks.put(node, partial(self._within, look_within, look))
            else:
                hooks.put(node, look)

    def _around(self, op: int, tensors_of: TensorsOf) -> tuple[Range, ...]:
        """The values that an op was given and made, as far as they can be read."""
        if op < 0 or op in self._extreme:
            return self._extreme.get(op, ())
        return _ranges(tensors_of(op))

    def hooked(self, run: int, node: int, received: Any, arrived: set[Edge], looks: _Looks) -> None:
        """A node was given nothing but zeros although others had passed on something: a hook came in between."""
        zero = [slot for slot, g in enumerate(received) if isinstance(g, Tensor) and not looks.nonzero(g)]
        if len(self.gradient_faults) < MOST_FAULTS and any((node, slot) in arrived for slot in zero):
            self.gradient_faults.append(GradientFault(run, node, "hooked"))

    def passed(
        self,
        run: int,
        node: int,
        received: Any,
        passed_on: Any,
        edges: tuple[Edge | None, ...],
        look: Callable[[], tuple[Range, ...]],
        looks: _Looks,
    ) -> None:
        """A node turned one gradient into others."""
        if len(self.gradient_faults) >= MOST_FAULTS:
            return
        came = [g for g in received if isinstance(g, Tensor)]
        went = [g for g in passed_on if isinstance(g, Tensor)]
        if not came or not went:
            return
        if all(map(looks.sound, came)) and not all(map(looks.sound, went)):
            self.gradient_faults.append(GradientFault(run, node, "nonfinite"))
        elif any(map(looks.nonzero, came)) and not all(map(looks.nonzero, went)):
            told = [g for edge, g in zip(edges, passed_on, strict=False) if edge is not None]
            spared = tuple(place for place, g in enumerate(told) if isinstance(g, Tensor) and looks.nonzero(g))
            self.gradient_faults.append(GradientFault(run, node, "zero", look(), spared))

    def _within(
        self, look_within: Callable[[Any], None], look: Callable[[Any, Any], None], passed_on: Any, received: Any
    ) -> None:
        """A compiled region was given gradients: where it makes bad ones, it is the op inside that is told."""
        came, went = ([g for g in each if isinstance(g, Tensor)] for each in (received, passed_on))
        before = len(self.gradient_faults)
        if all(map(sound, came)) and not (all(map(sound, went)) and all(map(any_nonzero, went))):
            look_within(received)
        known = len(self.gradient_faults)
        look(passed_on, received)
        if known > before:
            del self.gradient_faults[known:]

    def leaf(self, run: int, number: int, gradient: Tensor) -> None:
        """A leaf's gradient when the engine is done."""
        finite = sound(gradient)
        self.leaves.append(
            LeafValues(run, number, not any_nonzero(gradient), not finite, norm(gradient) if finite else -1.0)
        )


class _NodeObserver:
    """A node's hook: looks, and changes nothing (it returns None)."""

    def __init__(
        self,
        values: Values,
        run: int,
        node: int,
        arrived: set[Edge],
        edges: tuple[Edge | None, ...],
        look: Callable[[], tuple[Range, ...]],
    ) -> None:
        self.values = values
        self.look = look
        self.run = run
        self.node = node
        self.arrived = arrived
        self.edges = edges

    def __call__(self, passed_on: Any, received: Any) -> None:
        looks = _Looks()
        self.values.hooked(self.run, self.node, received, self.arrived, looks)
        self.values.passed(self.run, self.node, received, passed_on, self.edges, self.look, looks)
        for edge, gradient in zip(self.edges, passed_on, strict=False):
            if edge is not None and isinstance(gradient, Tensor) and looks.sound(gradient) and looks.nonzero(gradient):
                self.arrived.add(edge)


def _ranges(tensors: Iterable[tuple[int, Tensor]], *, counts: bool = False) -> tuple[Range, ...]:
    """Those of the tensors that can be read; of whole numbers only if ``counts``."""
    ranges = [range_of(number, tensor) for number, tensor in tensors if counts or is_continuous(dtype_of(tensor))]
    return tuple(values for values in ranges if values is not None)


def _edges(record: Node, node: Any) -> tuple[Edge | None, ...]:
    """The edges of a node as its gradients are ordered: None where the input needs none; of an opened one alone."""
    edges = iter(record.edges)
    opened = record.told_by == "node" and record.edges and inside_of(node) is None
    return tuple(None if child is None else next(edges) for child, _ in node.next_functions) if opened else ()
