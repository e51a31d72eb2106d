"""What the forward of a custom Function computes with although it was not given it: autograd has no edge to it."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.gradient_cuts.leaves_above import Leaves
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.torch_names import CHECKPOINT


class HiddenInputs(Struct, frozen=True):
    """``read``, an op in the forward of ``applied``, takes ``tensors``, and so ``starved`` got no gradient.

    ``starved``: parameters meant to learn that no backward of the capture reached; each is one of the tensors, or one
    of them was computed from it.
    """

    applied: Op
    read: Op
    tensors: tuple[int, ...]
    starved: tuple[int, ...]


def hidden_inputs(analysis: Analysis) -> Iterator[HiddenInputs]:
    """One for each line that applies such a Function.

    A Function that recomputes in its backward, as a reentrant checkpoint does, gives gradients to what it was not given,
    if it runs backward at all.
    """
    starved = analysis.without_gradient
    ops = analysis.capture.ops if starved else ()
    functions = [op for op in ops if op.has(Trait.FUNCTION) and op.recorded and op.name != CHECKPOINT]
    leaves = Leaves(analysis.capture, analysis.flow)
    told: set[object] = set()
    for applied in functions:
        key = applied.name, line_of(analysis, applied.site)
        found = _found(analysis, leaves, applied, starved) if key not in told else None
        if found is not None:
            told.add(key)
            yield found


def _found(analysis: Analysis, leaves: Leaves, applied: Op, starved: frozenset[int]) -> HiddenInputs | None:
    tensors = analysis.capture.tensors
    inner = _inner(analysis, applied)
    given = {tensors[t].storage for t in applied.inputs}
    made = {t for op in inner for t in op.outputs}
    hidden: dict[int, tuple[int, ...]] = {}
    first: Op | None = None
    for op in _that_count(analysis, inner, applied):
        for tensor in op.inputs:
            record = tensors[tensor]
            if tensor in hidden or tensor in made or record.storage in given or not record.requires_grad:
                continue
            hidden[tensor] = tuple(t for t in leaves.of(tensor, op.index) if t in starved)
            if hidden[tensor]:
                first = first or op
    behind = tuple(sorted({leaf for found in hidden.values() for leaf in found}))
    return HiddenInputs(applied, first, tuple(t for t in hidden if hidden[t]), behind) if first is not None else None


def _inner(analysis: Analysis, applied: Op) -> list[Op]:
    """The ops of a Function's forward, in program order."""
    ops, start = analysis.capture.ops, applied.index
    while start and ops[start - 1].has(Trait.INNER):
        start -= 1
    return list(ops[start : applied.index])


def _that_count(analysis: Analysis, inner: list[Op], applied: Op) -> list[Op]:
    """Those whose results went into what the Function returned: others only look."""
    tensors = analysis.capture.tensors
    wanted = {tensors[t].storage for t in applied.outputs}
    count: list[Op] = []
    for op in reversed(inner):
        written = {tensors[t].storage for t in op.outputs} | {write.storage for write in op.writes}
        if not wanted.isdisjoint(written - {-1}):
            wanted.update(tensors[t].storage for t in op.inputs)
            count.append(op)
    return count[::-1]
