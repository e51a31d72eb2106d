"""Statistics that a module keeps in plain tensors, and that a model which loads its state therefore does not get.

Training data changes them, in train mode alone, and what is evaluated computes with them. A cache, a hidden state or a
figure for a log is either not read there or written there as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import ModelLoaded, PlainTensorHeld

_AGAIN = 2
"""Written at least so often: what is computed once is set."""


class LeftOut(Struct, frozen=True):
    """``attributes`` of the model that ``loaded`` filled are what they were made; ``read`` evaluates with one of them.

    ``written`` changed the same attribute of the model that was trained.
    """

    attributes: tuple[PlainTensorHeld, ...]
    loaded: ModelLoaded
    written: Op
    read: Op


def left_out(analysis: Analysis) -> Iterator[LeftOut]:
    """One record for each load of a model."""
    capture = analysis.capture
    held = capture.events_of(PlainTensorHeld)
    loads = capture.events_of(ModelLoaded) if held and not capture.history.folded else ()
    for load in loads:
        root = next((capture.owners[tensor] for tensor in load.tensors if tensor in capture.owners), -1)
        found: list[tuple[PlainTensorHeld, Op, Op]] = []
        for own in held:
            read = _evaluated(analysis, own.tensor, load.at) if own.model == root else None
            written = None if read is None else next(_trained(analysis, held, own, load.at), None)
            if read is not None and written is not None:
                found.append((own, written, read))
        if found:
            yield LeftOut(tuple(own for own, *_ in found), load, found[0][1], found[0][2])


def _evaluated(analysis: Analysis, tensor: int, since: int) -> Op | None:
    """What computes with it in eval mode after that, where nothing has written to it."""
    capture = analysis.capture
    if any(analysis.writes_to(capture.tensors[tensor].storage, tensor, 0, len(capture.ops))):
        return None
    readers = (capture.ops[at] for at in capture.readers.get(tensor, ()) if at >= since)
    return next((op for op in readers if op.call >= 0 and not capture.outermost_call(op.call).training), None)


def _trained(analysis: Analysis, held: tuple[PlainTensorHeld, ...], own: PlainTensorHeld, until: int) -> Iterator[Op]:
    """The last write to the same attribute of another model before that, where calls in train mode alone write to it."""
    capture = analysis.capture
    for other in held:
        if other.model == own.model or (other.path, other.name, other.type) != (own.path, own.name, own.type):
            continue
        storage = capture.tensors[other.tensor].storage
        writes = [op for op, _ in analysis.writes_to(storage, other.tensor, 0, len(capture.ops))]
        inside = [op for op in writes if op.call >= 0 and not op.has(Trait.STEP | Trait.BACKWARD)]
        alone = len(inside) == len(writes) and all(capture.calls[op.call].training for op in inside)
        before = [op for op in inside if op.index < until]
        if storage != capture.tensors[own.tensor].storage and alone and len(before) >= _AGAIN:
            yield before[-1]
