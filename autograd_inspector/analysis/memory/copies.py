"""Copies in memory of their own, whole or as a part of something longer, and tensors that show such a copy."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op


class Copy(Struct, frozen=True):
    """An op that copied, and a tensor that shows where to."""

    op: Op
    shown: int


def copies(analysis: Analysis, tensor: int, storage: int, source: int) -> list[Copy]:
    """The copies by which all of a tensor came, bit by bit, to where another one shows it, the latest first.

    Empty where that one does not show it, element by element. ``storage``: the memory that the tensor had.
    """
    tensors = analysis.capture.tensors
    whole, shown = tensors[tensor], tensors[source]
    if (shown.shape, shown.dtype) != (whole.shape, whole.dtype) or not _dense(analysis, source):
        return []
    chain: list[Copy] = []
    at, place = 0, source
    while True:
        start = _start(analysis, place)
        made = _made(analysis, start)
        at += tensors[place].offset - tensors[start].offset
        part = next(((p, t) for p, t in _parts(analysis, made) if p <= at < p + tensors[t].nbytes), None)
        if made is None or part is None or not _dense(analysis, start):
            return []
        chain.append(Copy(made, place))
        at, place = at - part[0], part[1]
        if _start(analysis, place, (tensor, storage)) == tensor:
            return chain if not at and tensors[place].nbytes == whole.nbytes else []


def _parts(analysis: Analysis, made: Op | None) -> Iterator[tuple[int, int]]:
    """(where in the copy, of which input): one behind the other where several were joined, which vectors always are."""
    tensors = analysis.capture.tensors
    if made is not None and is_a(made.name, OpKind.COPIES) and made.inputs:
        yield 0, made.inputs[0]
    if made is not None and is_a(made.name, OpKind.CONCATENATES):
        at = 0
        for source in made.inputs if all(len(tensors[t].shape) == 1 for t in made.inputs) else ():
            yield at, source
            at += tensors[source].nbytes


def _start(analysis: Analysis, tensor: int, origin: tuple[int, int] = (-1, -1)) -> int:
    """The tensor whose memory this one shows, its elements in their order; not further back than the origin.

    ``origin``: that tensor, and the memory that it had, for it may have been given other memory since. An op that keeps
    the order may return a copy in another one for some arguments (``w[[1, 0]]``): it has other memory then.
    """
    tensors = analysis.capture.tensors
    while tensor != origin[0] and _dense(analysis, tensor):
        made = _made(analysis, tensor)
        if made is None or not is_a(made.name, OpKind.KEEPS_ORDER) or not made.inputs:
            break
        read = made.inputs[0]
        if tensors[tensor].storage != (origin[1] if read == origin[0] else tensors[read].storage):
            break
        tensor = read
    return tensor


def _made(analysis: Analysis, tensor: int) -> Op | None:
    birth = analysis.capture.tensors[tensor].birth
    return analysis.capture.ops[birth] if birth >= 0 else None


def _dense(analysis: Analysis, tensor: int) -> bool:
    record = analysis.capture.tensors[tensor]
    return record.nbytes == record.extent
