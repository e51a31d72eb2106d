"""The values of many rows over the kept steps, and the extremes of each."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence

from autograd_inspector.model.vitals import Extreme, Figure

_DIGITS = 4


class Table:
    """Rows of ``width`` columns each; one line of numbers a step. Not measured is an infinity below all others.

    A row that is met late has nothing in the lines before.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.rows = 0
        self.lines: list[array[float]] = []
        self._line: array[float] = array("d")
        self._least: list[tuple[float, int] | None] = []
        self._largest: list[tuple[float, int] | None] = []

    def new_row(self) -> int:
        """The number of one more row."""
        self.rows += 1
        nothing = [None] * self.width
        self._least += nothing
        self._largest += nothing
        return self.rows - 1

    def put(self, row: int, column: int, values: Sequence[float]) -> None:
        """What was measured in the present step, from that column on; NaN is a value, ``UNMEASURED`` is none."""
        self._fill()
        start = row * self.width + column
        self._line[start : start + len(values)] = array("d", values)

    def end_step(self, step: int) -> None:
        """The step is over."""
        self._fill()
        for cell, value in enumerate(self._line):
            if not math.isfinite(value):
                continue
            least, largest = self._least[cell], self._largest[cell]
            if least is None or value < least[0]:
                self._least[cell] = (value, step)
            if largest is None or value > largest[0]:
                self._largest[cell] = (value, step)
        self.lines.append(self._line)
        self._line = array("d")

    def drop(self, place: int) -> None:
        """Forget a step."""
        del self.lines[place]

    def figures(self, row: int) -> list[Figure]:
        """The columns of a row."""
        return [self._figure(row * self.width + column) for column in range(self.width)]

    def _figure(self, cell: int) -> Figure:
        values = [line[cell] if cell < len(line) else UNMEASURED for line in self.lines]
        if all(value == UNMEASURED for value in values):
            return Figure()
        least, largest = self._least[cell], self._largest[cell]
        return Figure(
            tuple(None if value == UNMEASURED else rounded(value) for value in values),
            None if least is None else Extreme(rounded(least[0]), least[1]),
            None if largest is None else Extreme(rounded(largest[0]), largest[1]),
        )

    def _fill(self) -> None:
        missing = self.rows * self.width - len(self._line)
        if missing:
            self._line.extend([UNMEASURED] * missing)


UNMEASURED = -math.inf


def rounded(value: float) -> float:
    """To four significant digits: more is neither seen nor needed, and costs bytes in every report."""
    return float(f"{value:.{_DIGITS}g}")
