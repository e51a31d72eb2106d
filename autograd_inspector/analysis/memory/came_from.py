"""Whose memory a value was first in: back over copies, casts, and files that were written and read again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import ops_of
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op

_HANDED_ON = OpKind.REWRAPS | OpKind.COPIES | OpKind.CONVERTS | OpKind.ALIASES
_MOST = 64
"""Copies of copies."""
_Kinds = tuple[tuple[tuple[int, ...], str], ...]


class CameFrom:
    """The origins of tensors.

    A pickle names no tensors. But it holds them in the order in which they were pickled, and they come back in that
    order: what one line pickled at once is what one line unpickles at once, where shapes and dtypes agree all along.
    """

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._unpickled = dict(_pairs(capture))

    def storage(self, tensor: int) -> int:
        """The memory that the tensor's values were in first, as far as they were only handed on; -1: it has none."""
        capture = self._capture
        for _ in range(_MOST):
            source = self._unpickled.get(tensor, -1)
            if source < 0:
                made = capture.tensors[tensor].birth
                op = capture.ops[made] if made >= 0 else None
                # Of what is unpickled the op names the last tensor of that shape alone.
                if op is None or not is_a(op.name, _HANDED_ON) or is_a(op.name, OpKind.UNPICKLES):
                    break
                source = op.inputs[0] if len(op.inputs) == 1 else -1
            if source < 0 or source == tensor:
                break
            tensor = source
        return capture.tensors[tensor].storage


def _pairs(capture: Capture) -> Iterator[tuple[int, int]]:
    """(tensor that came out of a pickle, the tensor that went into it)."""
    written: dict[_Kinds, list[list[int]]] = {}
    for stretch in _stretches(ops_of(capture, OpKind.PICKLES | OpKind.UNPICKLES)):
        if is_a(stretch[0].name, OpKind.UNPICKLES):
            came = [op.outputs[0] for op in stretch if op.outputs]
            went = written.get(_kinds(capture, came), ())
            if went and all(_memories(capture, other) == _memories(capture, went[-1]) for other in went):
                yield from zip(came, went[-1], strict=True)
        else:
            tensors = [op.inputs[0] for op in stretch if op.inputs]
            written.setdefault(_kinds(capture, tensors), []).append(tensors)


def _stretches(ops: Iterable[Op]) -> Iterator[list[Op]]:
    """The ops that one line did one after the other."""
    stretch: list[Op] = []
    for op in ops:
        if stretch and (op.name, op.site, op.index) != (stretch[-1].name, stretch[-1].site, stretch[-1].index + 1):
            yield stretch
            stretch = []
        stretch.append(op)
    if stretch:
        yield stretch


def _kinds(capture: Capture, tensors: Iterable[int]) -> _Kinds:
    return tuple((capture.tensors[tensor].shape, capture.tensors[tensor].dtype) for tensor in tensors)


def _memories(capture: Capture, tensors: Sequence[int]) -> list[int]:
    return [capture.tensors[tensor].storage for tensor in tensors]
