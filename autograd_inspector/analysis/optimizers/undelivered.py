"""Copies of a model's parameters that an optimizer steps with the model's gradients, and that never go back to it.

Master weights in float32, the server's weights of a federation, the shared ones of asynchronous workers: the model goes on
computing with what it had. Copies that the program reads between the steps go somewhere else: they are used, or sent.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.parameters.unoptimized import memory_of
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import Trait

_FEWEST = 2
"""A single step may be the last thing that the capture saw before the weights went back."""


class Undelivered(Struct, frozen=True):
    """``parameters`` give their gradients to ``copies``, which ``steps`` update, and are not written afterwards."""

    parameters: tuple[int, ...]
    copies: tuple[int, ...]
    steps: tuple[Step, ...]


def undelivered(analysis: Analysis) -> Iterator[Undelivered]:
    """One for each optimizer. All of its copies must stay where they are: some layers are frozen on purpose."""
    given = _given(analysis)
    if not given:
        return
    for optimizer in analysis.capture.placement.optimizers:
        pairs = {copy: given[copy] for copy in optimizer.held if copy in given}
        steps = tuple(
            step
            for step in analysis.timeline.steps_of(optimizer.id).all
            if any(p.tensor in pairs and p.gradient >= 0 for p in step.parameters) and not step.error
        )
        parameters = tuple(dict.fromkeys(tensor for of in pairs.values() for tensor in of))
        if (
            len(steps) >= _FEWEST
            and parameters
            and not any(_served(analysis, t, steps[0]) for t in parameters)
            and not any(_read(analysis, copy, steps[0].at, steps[-1].at) for copy in pairs)
        ):
            yield Undelivered(parameters, tuple(pairs), steps)


def _given(analysis: Analysis) -> dict[int, tuple[int, ...]]:
    """Parameter that an optimizer steps -> parameters of models that no optimizer has, whose gradients it was assigned."""
    capture = analysis.capture
    memory = memory_of(capture, capture.optimized)
    read = {
        each.gradient: each.tensor
        for each in capture.grad_reads
        if each.gradient >= 0
        and each.tensor in capture.owners
        and each.tensor not in capture.optimized
        and capture.tensors[each.tensor].storage not in memory
    }
    given: dict[int, dict[int, None]] = {}
    for copy, parameter in _copied_into(analysis, read) if read else ():
        given.setdefault(copy, {})[parameter] = None
    for write in capture.grad_writes if read else ():
        if write.gradient >= 0 and write.tensor in capture.optimized:
            made = analysis.flow.birth(write.gradient)
            sources = (write.gradient, *(made.inputs if made is not None else ()))
            for source in sources:
                if source in read:
                    given.setdefault(write.tensor, {})[read[source]] = None
    return {copy: tuple(of) for copy, of in given.items()}


def _copied_into(analysis: Analysis, read: dict[int, int]) -> Iterator[tuple[int, int]]:
    """(parameter that an optimizer steps, parameter whose gradient an op has written into the memory of its own)."""
    capture = analysis.capture
    of = {capture.tensors[gradient].storage: parameter for gradient, parameter in read.items()}
    of.pop(-1, None)
    for copy in sorted(capture.optimized):
        for gradient in analysis.gradients.get(copy, ()):
            storage = capture.tensors[gradient].storage
            for op, _ in analysis.writes_in(storage, 0, len(capture.ops)) if storage >= 0 else ():
                made = (
                    [analysis.flow.birth(tensor) for tensor in op.inputs] if is_a(op.name, OpKind.COPIES_INTO) else []
                )
                above = (tensor for each in made if each is not None for tensor in each.inputs)
                sources = {capture.tensors[tensor].storage for tensor in (*op.inputs, *above)} - {storage}
                yield from ((copy, of[source]) for source in sources if source in of and made)


def _served(analysis: Analysis, tensor: int, first: Step) -> bool:
    """Whether something wrote a parameter after the first step, or nothing computed with it any more."""
    capture = analysis.capture
    storage, end = capture.tensors[tensor].storage, len(capture.ops)
    written = any(not op.has(Trait.BACKWARD) for op, _ in analysis.writes_to(storage, tensor, first.at + 1, end))
    used = any(
        at > first.at and capture.ops[at].last_seq > capture.ops[at].first_seq for at in capture.readers.get(tensor, ())
    )
    return written or not used


def _read(analysis: Analysis, copy: int, first: int, last: int) -> bool:
    """Whether something took the value of a copy between two steps. What writes to it only moves it on."""
    capture = analysis.capture
    storage = capture.tensors[copy].storage
    readers = (capture.ops[at] for at in capture.readers.get(copy, ()) if first < at < last)
    return any(
        not op.has(Trait.STEP | Trait.BACKWARD) and all(write.storage != storage for write in op.writes)
        for op in readers
    )
