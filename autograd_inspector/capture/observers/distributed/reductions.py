"""Whether a backward's gradients were reduced over the ranks: seen by their version counters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from torch import Tensor

from autograd_inspector.capture.observers.distributed.wrappers import Wrappers
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import address_of, gradient_of, version_of
from autograd_inspector.model.program_events import GradientsLeftLocal


class _Before(NamedTuple):
    """A parameter and its gradient when a backward began."""

    number: int
    parameter: Tensor
    address: int | None
    version: int


class _Inner(NamedTuple):
    """What a backward within another left to a parameter: held until the outer one ends."""

    wrapper: int
    backward: int
    number: int
    parameter: Tensor
    gradient: Tensor
    version: int


class Reductions:
    """Looks at the gradients of what wrappers manage before and behind each backward.

    To accumulate a gradient writes to it once, or makes a new one, whose counter is 0. What the reducer brings is
    copied into it behind that: another write. Views of one bucket share their counter, so all of them count there.
    """

    def __init__(self, recording: Recording, wrappers: Wrappers) -> None:
        self._recording = recording
        self._wrappers = wrappers
        self._open: dict[int, dict[int, list[_Before]]] = {}
        """Backward -> wrapper -> its parameters that the backward reaches."""
        self._inner: list[_Inner] = []
        """What backwards within the one that runs left: the reducer may come for it until that one ends."""

    def began(self, backward: int, leaves: Mapping[int, Tensor]) -> None:
        """A backward is about to run, to these leaves."""
        left = dict(leaves)
        for wrapper, managed in self._wrappers.managed():
            reached = [_before(number, leaf) for number, leaf in leaves.items() if id(leaf) in managed]
            if reached:
                self._open.setdefault(backward, {})[wrapper] = reached
                for before in reached:
                    left.pop(before.number, None)
        for wrapper, tensors in self._wrappers.gone() if left else ():
            reached = [_before(number, left.pop(number)) for number in tensors & left.keys()]
            if reached:
                self._open.setdefault(backward, {})[wrapper] = reached

    def ended(self, backward: int) -> None:
        """It is over: note what was left as this rank alone computed it."""
        nested = self._recording.backwards[backward].nested_in >= 0
        for wrapper, reached in self._open.pop(backward, {}).items():
            left = _local(reached)
            if nested:  # A checkpoint's own backward ends before its bucket is full, perhaps.
                self._inner += _held(wrapper, backward, left)
            elif left:
                self._note(wrapper, backward, [before.number for before in left])
        if not nested and self._inner:
            inner, self._inner = self._inner, []
            found: dict[tuple[int, int], list[int]] = {}
            for each in inner:
                if each.gradient is gradient_of(each.parameter) and version_of(each.gradient) == each.version:
                    found.setdefault((each.wrapper, each.backward), []).append(each.number)
            for (wrapper, within), numbers in found.items():
                self._note(wrapper, within, numbers)

    def _note(self, wrapper: int, backward: int, left: list[int]) -> None:
        recording = self._recording
        at, site = len(recording.ops), recording.backwards[backward].site
        gone = any(number == wrapper for number, _ in self._wrappers.gone())
        recording.events.append(
            GradientsLeftLocal(at, site, "DistributedDataParallel", wrapper, backward, tuple(left), gone)
        )


def _held(wrapper: int, backward: int, left: Iterable[_Before]) -> Iterator[_Inner]:
    for number, parameter, *_ in left:
        gradient = gradient_of(parameter)
        if gradient is not None:
            yield _Inner(wrapper, backward, number, parameter, gradient, version_of(gradient))


def _before(number: int, leaf: Tensor) -> _Before:
    gradient = gradient_of(leaf)
    if gradient is None:
        return _Before(number, leaf, None, -1)
    return _Before(number, leaf, address_of(gradient), version_of(gradient))


def _local(reached: list[_Before]) -> list[_Before]:
    after = [(before, gradient_of(before.parameter)) for before in reached]
    # A hook may have used and cleared it; a sparse one has neither address nor counter that tell.
    there = [
        (before, address_of(gradient), version_of(gradient))
        for before, gradient in after
        if gradient is not None and address_of(gradient) is not None
    ]
    kept = Counter(address for before, address, _ in there if address == before.address)
    return [
        before
        for before, address, version in there
        if (version - before.version <= kept[address] if address == before.address else version == 0)
    ]
