"""Which memory went through an exchange between ranks, and which came out of one, within a stretch of the program.

A gradient may be reduced as it is, as a view, in a flat copy of many, or be assigned from what came back. So sizes
are followed through the ops: a number computed from a gradient (its norm) that ranks sum is no reduction of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property
from math import prod

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import Communicated

Sizes = dict[int, int]
"""Storage -> the most elements of it that an exchange may have carried."""


class Exchanges:
    """The calls of a capture that exchange tensors among more than one rank."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self.calls = tuple(event for event in capture.events_of(Communicated) if event.world > 1)
        self._tensors = {event.at: event.tensors for event in self.calls if event.tensors}
        self._results = {event.at: event.results or event.tensors for event in self.calls if event.tensors}

    @cached_property
    def in_functions(self) -> bool:
        """Whether Functions exchange tensors: parallel layers, of which no rank has the whole gradient to give."""
        return any(event.inside and event.name != "barrier" for event in self.calls)

    @cached_property
    def point_to_point(self) -> bool:
        """Whether some rank sends to another: a pipeline, a parameter server."""
        return any(is_a(event.name, OpKind.POINT_TO_POINT) for event in self.calls)

    def within(self, start: int, end: int) -> list[Communicated]:
        """Those among the ops from ``start`` to ``end``."""
        return [event for event in self.calls if start <= event.at < end]

    def carried(self, start: int, end: int, *, of: Collection[int] | None = None) -> Sizes:
        """What went in and what came out, by ops ``start`` to ``end``; ``of``: by those exchanges alone."""
        ops = [op for op in self._capture.ops[max(start, 0) : end] if self._passes_on(op, of)]
        sizes: Sizes = {}
        for op in reversed(ops):
            self._flow(op, of, _stores(op), op.inputs, sizes, self._tensors)
        for storage, size in self._came(ops, of).items():
            sizes[storage] = max(size, sizes.get(storage, 0))
        return sizes

    def came(self, start: int, end: int) -> Sizes:
        """What came out of exchanges alone, by the same ops: not what went in and stayed as it was."""
        return self._came([op for op in self._capture.ops[max(start, 0) : end] if self._passes_on(op, None)], None)

    def _came(self, ops: Iterable[Op], of: Collection[int] | None) -> Sizes:
        came: Sizes = {}
        for op in ops:
            self._flow(op, of, op.inputs, _stores(op), came, self._results)
        return came

    def _passes_on(self, op: Op, of: Collection[int] | None) -> bool:
        """Whether values go through an op to an exchange: not those of a model's forward, nor of a step."""
        if op.index in self._tensors:
            return of is None or op.index in of
        values = not is_a(op.name, OpKind.TAKES_SHAPE_ONLY)
        return values and op.call < 0 and not op.has(Trait.STEP) and op.last_seq <= op.first_seq

    def _flow(
        self,
        op: Op,
        of: Collection[int] | None,
        given: Iterable[int],
        to: Iterable[int],
        sizes: Sizes,
        exchanged: dict[int, tuple[int, ...]],
    ) -> None:
        if op.index in exchanged and (of is None or op.index in of):
            size, to = max(map(self.elements, exchanged[op.index]), default=0), exchanged[op.index]
        else:
            size = max((sizes.get(self.storage(t), 0) for t in given), default=0)
        for tensor in to if size else ():
            storage = self.storage(tensor)
            if storage >= 0:
                sizes[storage] = max(size, sizes.get(storage, 0))

    def storage(self, tensor: int) -> int:
        """The memory of a tensor, -1 where it is not known."""
        return self._capture.tensors[tensor].storage if tensor >= 0 else -1

    def origin(self, tensor: int) -> int:
        """What a tensor is a view or an alias of, itself where it is none: ``p.grad`` of ``p.grad.data``."""
        tensors, ops = self._capture.tensors, self._capture.ops
        while tensor >= 0 and tensors[tensor].birth >= 0 and tensors[tensor].storage >= 0:
            inputs = ops[tensors[tensor].birth].inputs
            if not inputs or inputs[0] == tensor or tensors[inputs[0]].storage != tensors[tensor].storage:
                break
            tensor = inputs[0]
        return tensor

    def elements(self, tensor: int) -> int:
        """How many elements it has."""
        return prod(self._capture.tensors[tensor].shape)

    def agreed_size(self, event: Communicated) -> str:
        """How much a call carries of what, where that has to be the same on all ranks; "" where it has not."""
        if not is_a(event.name, OpKind.OF_ONE_SIZE) or not event.tensors:
            return ""
        # What ranks gather into a list may have other sizes, as long as all lists are alike.
        alike = event.tensors[:-1] if event.name == "all_gather" else event.tensors
        dtypes = dict.fromkeys(self._capture.tensors[tensor].dtype for tensor in alike)
        return f"{sum(map(self.elements, alike))} {' '.join(dtypes)}"

    def received(self, event: Communicated) -> tuple[int, ...]:
        """The tensors that a call writes what comes from other ranks into."""
        op = self._capture.ops[event.at] if event.tensors and event.at < len(self._capture.ops) else None
        if op is None or is_a(event.name, OpKind.FROM_ONE_RANK | OpKind.TO_ONE_RANK):
            return ()  # Not on the rank that they come from.
        if not is_a(event.name, OpKind.OF_ONE_SIZE | OpKind.POINT_TO_POINT):
            return ()  # Of several lists it is not known which is which.
        written = {write.tensor for write in op.writes}
        own = event.tensors[-1:] if len(event.tensors) > 1 else ()  # What this rank contributes comes last.
        return tuple(tensor for tensor in event.tensors if tensor in written and tensor not in own)

    @cached_property
    def weights(self) -> Sizes:
        """What ranks exchange of weights in the course of training: averaged every few steps, or sent out anew.

        What one rank sends before the first step only makes the replicas equal.
        """
        of = {event.at for event in self.calls if not is_a(event.name, OpKind.FROM_ONE_RANK) or self._amid(event)}
        return self.carried(0, len(self._capture.ops), of=of)

    def _amid(self, event: Communicated) -> bool:
        """Whether a call lies behind a step of an optimizer that steps again, or behind all steps."""
        before = {step.optimizer for step in self._capture.steps if step.at <= event.at}
        after = {step.optimizer for step in self._capture.steps if step.at > event.at}
        return not before.isdisjoint(after) if after else bool(before)


def _stores(op: Op) -> tuple[int, ...]:
    return (*op.outputs, *(write.tensor for write in op.writes))
