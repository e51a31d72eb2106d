"""Which value of a tensor an op read: two reads of one tensor are alike where nothing wrote to it in between."""

from __future__ import annotations

from bisect import bisect_left

from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op

Value = tuple[int, int]
"""A tensor, and what tells its values apart."""


class ReadValues:
    """By version counters; a tensor of inference mode has none, and is known by the op that returned it last."""

    def __init__(self, capture: Capture) -> None:
        self._returned: dict[int, list[int]] = {}
        for op in capture.ops:
            for tensor in op.outputs:
                self._returned.setdefault(tensor, []).append(op.index)

    def of(self, op: Op) -> list[Value]:
        """One for each input of the op, in their order."""
        versions = (*op.versions, *(-1 for _ in op.inputs))
        return [
            (tensor, version if version >= 0 else -2 - self._last(tensor, op.index))
            for tensor, version in zip(op.inputs, versions, strict=False)
        ]

    def _last(self, tensor: int, before: int) -> int:
        returned = self._returned.get(tensor, [])
        at = bisect_left(returned, before)
        return returned[at - 1] if at else -1
