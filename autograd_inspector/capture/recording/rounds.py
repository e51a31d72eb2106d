"""The rounds of a training loop, as far as they can be told apart: by who steps, and when."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping

from torch import Tensor

from autograd_inspector.capture.recording.raw_records import OP_WRITES
from autograd_inspector.capture.recording.records import Records
from autograd_inspector.capture.tensors.attributes import gradient_of

_BY_HAND = -1
"""Stands for whoever updates the parameters of a program without optimizers."""
_MANY = 1024


class Rounds:
    """When each optimizer stepped, on a clock that counts the tensors met so far.

    Several optimizers do not agree on what a round is: a critic steps five times for each step of its generator, an
    inner loop a hundred times for each step of the outer one. So every question is asked of each of them.
    """

    def __init__(self) -> None:
        self._steps: dict[int, list[int]] = {}
        self._fresh = False
        self._with_gradient: set[int] = set()
        """Leaves that a backward gave a gradient, as long as no optimizer stepped."""
        self._before = (0, 0, 0)
        """How many backwards, ops and tensors there were when the backward before began."""

    def stepped(self, optimizer: int, recording: Records) -> None:
        """An optimizer has made a step."""
        self._steps.pop(_BY_HAND, None)
        self._with_gradient.clear()
        self._steps.setdefault(optimizer, []).append(len(recording.registry.entries))
        self._fresh = True

    def begun(self, recording: Records, leaves: Mapping[int, Tensor]) -> bool:
        """A backward begins, which is to reach those leaves; whether it is the first one since somebody stepped."""
        if not self._steps.keys() - {_BY_HAND}:
            self._by_hand(recording, leaves)
        fresh, self._fresh = self._fresh, False
        return fresh

    def _by_hand(self, recording: Records, leaves: Mapping[int, Tensor]) -> None:
        """Without optimizers a round begins where gradients no longer add up, or a leaf was written since they did."""
        backwards, ops, tensors = self._before
        for _, run in recording.backwards.items(backwards):
            if run.api == "backward" and not run.error:
                self._with_gradient.update(set(run.reached).difference(run.empty))
        accumulating = any(gradient_of(leaf) is not None for leaf in leaves.values())
        if self._with_gradient and (not accumulating or self._written(recording, ops, leaves)):
            self._steps.setdefault(_BY_HAND, []).append(tensors)
            self._fresh = True
        if len(self._with_gradient) > _MANY:
            self._with_gradient = set(leaves)
        self._before = len(recording.backwards), len(recording.ops), len(recording.registry.entries)

    def _written(self, recording: Records, since: int, leaves: Mapping[int, Tensor]) -> bool:
        """Whether a recorded op wrote the memory of a leaf that had a gradient, or that gradient's."""
        written = {write.storage for _, op in recording.ops.items(since) for write in op[OP_WRITES]} - {-1}
        leaves_with_gradient = (
            [leaf for number, leaf in leaves.items() if number in self._with_gradient] if written else []
        )
        held = [
            *leaves_with_gradient,
            *(gradient for gradient in map(gradient_of, leaves_with_gradient) if gradient is not None),
        ]
        return any(recording.registry.storage_of(tensor) in written for tensor in held)

    def between(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """(optimizer, its steps) from one tensor to another, of those that stepped."""
        for optimizer, steps in self._steps.items():
            count = bisect_right(steps, end) - bisect_right(steps, start)
            if count:
                yield optimizer, count

    def spanned(self, optimizer: int, tensors: Iterable[int]) -> int:
        """In how many rounds of that optimizer the tensors were made."""
        steps = self._steps.get(optimizer, ())
        return len({bisect_right(steps, tensor) for tensor in tensors})

    def most_spanned(self, tensors: Collection[int]) -> int:
        """In how many rounds the tensors were made, of the optimizer in whose rounds these are the most."""
        return max((self.spanned(optimizer, tensors) for optimizer in self._steps), default=0)

    def forget(self, before: int) -> None:
        """Nobody asks for what came before that tensor any more."""
        for steps in self._steps.values():
            if len(steps) > _MANY:
                del steps[: max(bisect_right(steps, before) - 1, 0)]
