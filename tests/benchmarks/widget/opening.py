"""From running the cell to the first paint: to the kernel, in it, and from it to the page."""

from __future__ import annotations

from typing import NamedTuple

from .notebook import Notebook
from .spread import Spread

FLOOR = "an empty anywidget"
REPORT, EMPTY = 1, 2
"""Cells that show the report, and the empty widget."""


class Opening(NamedTuple):
    """All clocks are those of one machine."""

    total: Spread
    before: Spread
    kernel: Spread
    page: Spread
    floor: Spread


def openings(page: Notebook, rounds: int) -> Opening:
    """Each of the two cells once a round; a first round warms up and does not count."""
    taken = []
    for number in range(rounds + 1):
        started, painted = page.run(EMPTY, widgets=1)
        floor = painted - started
        started, painted = page.run(REPORT, widgets=1)
        clock = page.printed(REPORT)
        began, ended = clock["began"], clock["ended"]
        if number:
            taken.append((painted - started, began - started, ended - began, painted - ended, floor))
    return Opening(*[Spread(column) for column in zip(*taken, strict=True)])
