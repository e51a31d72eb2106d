"""How tensors were computed: of two that were computed alike nobody knows, without their values, that they differ."""

from __future__ import annotations

from autograd_inspector.analysis.dataflow import DataFlow
from autograd_inspector.model.op import Op

_DEEPEST = 6
"""So many ops back; what was computed further back may have been computed alike."""
_FURTHER_BACK = -1


class Computations:
    """Numbers computations: tensors that the same ops made, in the same order, of the same tensors have one number."""

    def __init__(self, flow: DataFlow) -> None:
        self._flow = flow
        self._numbers: dict[tuple[object, ...], int] = {}
        self._calls: dict[tuple[int, int], int] = {}

    def of(self, tensor: int, version: int) -> int:
        """The number of the computation of a tensor, as it was at that version.

        One that was there before, or that was modified since it was made, has a number of its own: by how much it was
        modified is not known.
        """
        return self._of(tensor, version, _DEEPEST)

    def _of(self, tensor: int, version: int, deepest: int) -> int:
        made = self._flow.birth(tensor)
        if made is None or version:
            return self._number("tensor", tensor)
        if not deepest:
            return _FURTHER_BACK
        place = made.outputs.index(tensor) if tensor in made.outputs else -1
        return self._number("output", self._call(made, deepest), place)

    def _call(self, op: Op, deepest: int) -> int:
        """Of a call that makes a thousand tensors of two thousand it is looked up once what it read."""
        key = op.index, deepest
        computation = self._calls.get(key)
        if computation is None:
            versions = (*op.versions, *(0 for _ in op.inputs))
            read = zip(op.inputs, versions, strict=False)
            numbers = tuple(sorted(self._flow.capture.given.get(op.index, {}).items()))
            of = (self._of(*each, deepest - 1) for each in read)
            computation = self._calls[key] = self._number("call", op.name, numbers, *of)
        return computation

    def _number(self, *computation: object) -> int:
        return self._numbers.setdefault(computation, len(self._numbers))
