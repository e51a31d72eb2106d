"""Which ops read each tensor."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence

from autograd_inspector.model.op import Op


class Readers:
    """Tensor -> the ops that read it, in program order.

    Most of a long program's tensors are read once: of these an integer each is kept.
    """

    def __init__(self, ops: Iterable[Op], tensors: int) -> None:
        once, several = array("q", [-1]) * tensors, dict[int, list[int]]()
        for op in ops:
            inputs, index = op.inputs, op.index
            for tensor in inputs if len(inputs) < _TWO else dict.fromkeys(inputs):
                readers = several.get(tensor)
                if readers is not None:
                    readers.append(index)
                elif not 0 <= tensor < tensors:
                    several[tensor] = [index]
                elif once[tensor] < 0:
                    once[tensor] = index
                else:
                    several[tensor] = [once[tensor], index]
        self._once, self._several = once, several

    def get(self, tensor: int, default: Sequence[int] = ()) -> Sequence[int]:
        """The ops that read a tensor, ``default`` where none did."""
        several = self._several.get(tensor)
        if several is not None:
            return several
        reader = self._once[tensor] if 0 <= tensor < len(self._once) else -1
        return (reader,) if reader >= 0 else default

    def __getitem__(self, tensor: int) -> Sequence[int]:
        """The same; raises KeyError where none did."""
        readers = self.get(tensor)
        if not readers:
            raise KeyError(tensor)
        return readers

    def __contains__(self, tensor: int) -> bool:
        return bool(self.get(tensor))

    def __iter__(self) -> Iterator[int]:
        """The tensors that some op read."""
        yield from (tensor for tensor, reader in enumerate(self._once) if reader >= 0)
        yield from (tensor for tensor in self._several if not 0 <= tensor < len(self._once))


_TWO = 2
