"""Which of the numbers that left torch a plain number was computed from: by its value, never by its name."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from operator import add, mul, sub, truediv
from types import CodeType, FrameType

from autograd_inspector.capture.lines.frame_locals import locals_of
from autograd_inspector.capture.lines.stacks import SKIP, classify

_LATEST = 32
_COEFFICIENTS = 24
_MOST = 1000
_WRITTEN_DIGITS = 6
"""Constants have fewer; of a value that was computed in float32 Python shows some 17."""
_OPERATIONS: tuple[Callable[[float, float], float], ...] = (mul, truediv, add, sub)

Taken = tuple[float, int, int, int]
"""A number, the tensor whose value it is, the op that took it out of torch, and that op's site."""


def is_common(number: float) -> bool:
    """Whether people write such a number, or many tensors hold it: equal ones need not have to do with each other."""
    return float(f"{number:.{_WRITTEN_DIGITS}g}") == number


def is_literal(number: float, frame: FrameType | None) -> bool:
    """Whether the very object is a constant of the code that hands it to torch: ``x + 1e-8``."""
    frame = _caller(frame)
    return frame is not None and any(number is constant for constant in _constants(frame.f_code))


def variables_at(frame: FrameType | None) -> Iterator[object]:
    """What the variables hold of the function that hands something to torch."""
    frame = _caller(frame)
    return (value for _, value in locals_of(frame)) if frame is not None else iter(())


class NumberOrigin:
    """The numbers that left torch since the last backward, and what has been computed from them."""

    def __init__(self) -> None:
        self._latest: deque[Taken] = deque(maxlen=_LATEST)
        self._runs = 0
        self._unrelated: set[tuple[float, int]] = set()
        """Numbers that were looked up in vain since the last one left, and Python's ids of the functions."""

    def left(self, number: float, tensor: int, op: int, site: int, runs: int) -> None:
        """A number was taken out, after so many backwards."""
        if runs != self._runs:
            self._latest.clear()
            self._runs = runs
        self._unrelated.clear()
        self._latest.append((number, tensor, op, site))

    def behind(self, number: float, frame: FrameType | None, runs: int) -> list[Taken]:
        """What the number was computed from: one number that had left, or all those of a line or of several.

        The number has to be exactly what Python computes from these and at most one other number that the calling
        function has at hand.
        """
        if runs != self._runs or not self._latest or is_common(number):
            return []
        frame = _caller(frame)
        if frame is None or (number, id(frame.f_code)) in self._unrelated:
            return []
        others = [*islice(_at_hand(frame), _COEFFICIENTS)]
        for group in self._groups():
            if any(number in (result, -result) for result in _results([taken[0] for taken in group], others)):
                return group
        if len(self._unrelated) < _MOST:
            self._unrelated.add((number, id(frame.f_code)))
        return []

    def tensors(self, runs: int) -> set[int]:
        """The tensors whose values may still come back."""
        return {tensor for _, tensor, _, _ in self._latest} if runs == self._runs else set()

    def _groups(self) -> Iterator[list[Taken]]:
        yield from ([taken] for taken in reversed(self._latest))
        lines = dict.fromkeys(taken[3] for taken in self._latest)
        for line in lines if len(lines) > 1 else ():
            yield [taken for taken in self._latest if taken[3] == line]
        yield [*self._latest]


def _results(values: list[float], others: list[float]) -> Iterator[float]:
    """What one expression makes of the values: their sum or mean, with another number, or the sum of such products.

    A result that is the other number itself (``2.0 + 1e-20``), or a product with zero, tells nothing of the values.
    """
    total = sum(values)
    for base in dict.fromkeys((total, total / len(values))):
        yield base
        for other in filter(None, others):
            results = [operation(base, other) for operation in _OPERATIONS]
            if base:
                results.append(other / base)
            yield from (result for result in results if abs(result) != abs(other))
    if len(values) > 1:
        for other in filter(None, others):
            yield sum([other * value for value in values])


def _at_hand(frame: FrameType) -> Iterator[float]:
    """The numbers that a function can compute with: its constants, its variables, the globals that it names."""
    named = (dict.get(frame.f_globals, name) for name in frame.f_code.co_names)
    for values in (_constants(frame.f_code), (value for _, value in locals_of(frame)), named):
        yield from (float(value) for value in values if type(value) is float or type(value) is int)


def _constants(code: CodeType) -> Iterator[object]:
    """The literals of a function, with those in the tuples that it loops over."""
    return _opened(code.co_consts)


def _opened(constants: Iterable[object]) -> Iterator[object]:
    for constant in constants:
        if isinstance(constant, (tuple, frozenset)):
            yield from _opened(constant)
        else:
            yield constant


def _caller(frame: FrameType | None) -> FrameType | None:
    """The innermost frame outside of torch."""
    frame = frame or sys._getframe(1)
    while frame is not None and classify(frame.f_code.co_filename) == SKIP:
        frame = frame.f_back
    return frame
