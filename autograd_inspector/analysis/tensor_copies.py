"""Copies in memory of their own, whole or as a part of something longer, and tensors that show such a copy."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.restored_memory import COPIES, SAME
from autograd_inspector.model.op import Op

_IN_ORDER = SAME | frozenset({
    "view", "view_as", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "__getitem__", "select", "narrow",
    "split", "split_with_sizes", "chunk", "unbind",
})  # fmt: skip
"""Ops that return elements of their input in the order that they had, where these lie next to each other."""
_JOINS = frozenset({"cat", "concat", "concatenate", "hstack"})


class Copy(Struct, frozen=True):
    """An op that copied, and a tensor that shows where to."""

    op: Op
    shown: int


def copies(analysis: Analysis, tensor: int, source: int) -> list[Copy]:
    """The copies by which all of a tensor came, bit by bit, to where another one shows it, the latest first.

    Empty where that one does not show it, element by element.
    """
    tensors = analysis.capture.tensors
    whole, shown = tensors[tensor], tensors[source]
    if (shown.shape, shown.dtype, shown.nbytes) != (whole.shape, whole.dtype, shown.extent):
        return []
    found: list[Copy] = []
    at, place = 0, source
    while True:
        start = _start(analysis, place)
        made = _made(analysis, start)
        at += tensors[place].offset - tensors[start].offset
        part = next(((p, t) for p, t in _parts(analysis, made) if p <= at < p + tensors[t].nbytes), None)
        if made is None or part is None or not _dense(analysis, start):
            return []
        found.append(Copy(made, place))
        at, place = at - part[0], part[1]
        if _start(analysis, place, until=tensor) == tensor:
            return found if not at and tensors[place].nbytes == whole.nbytes else []


def _parts(analysis: Analysis, made: Op | None) -> Iterator[tuple[int, int]]:
    """(where in the copy, of which input): one behind the other where several were joined, which vectors always are."""
    tensors = analysis.capture.tensors
    if made is not None and made.name in COPIES and made.inputs:
        yield 0, made.inputs[0]
    if made is not None and made.name in _JOINS:
        at = 0
        for given in made.inputs if all(len(tensors[t].shape) == 1 for t in made.inputs) else ():
            yield at, given
            at += tensors[given].nbytes


def _start(analysis: Analysis, tensor: int, *, until: int = -1) -> int:
    """The tensor whose memory this one shows, its elements in their order; not further back than one of them."""
    tensors = analysis.capture.tensors
    while tensor != until and _dense(analysis, tensor):
        made = _made(analysis, tensor)
        if made is None or made.name not in _IN_ORDER or not made.inputs:
            break
        if made.inputs[0] != until and tensors[made.inputs[0]].storage != tensors[tensor].storage:
            break
        tensor = made.inputs[0]
    return tensor


def _made(analysis: Analysis, tensor: int) -> Op | None:
    birth = analysis.capture.tensors[tensor].birth
    return analysis.capture.ops[birth] if birth >= 0 else None


def _dense(analysis: Analysis, tensor: int) -> bool:
    record = analysis.capture.tensors[tensor]
    return record.nbytes == record.extent
