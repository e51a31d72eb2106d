"""How deep autograd graphs may be walked without endangering the program.

A Node that Python has met is freed recursively, long after Python let go of it: one stack frame deeper for each such
Node on a path, however many others lie between. Some 40,000 of them overflow an 8 MB stack (torch 2.13). So each walk
is bounded, and walks that continue each other are bounded together.
"""

from __future__ import annotations

from itertools import islice

MAX_DEPTH = 5_000
"""Nodes met along any path of one walk."""

MAX_WIDTH = 20_000
"""Inputs of a Node that a walk opens."""

MAX_TOTAL = 15_000
"""Nodes met along any path by all walks; the walk that exceeds it is the last one."""

_REMEMBERED = 50_000
_SPARE = 10_000


class Reach:
    """What the walks of one capture have met: for each Node, by sequence number, the longest path below it."""

    def __init__(self) -> None:
        self.exhausted = False
        self._heights: dict[int, int] = {}

    def met(self, nodes: list[tuple[int, list[int]]]) -> None:
        """A walk met these Nodes (sequence number, those of its inputs), consumers first."""
        heights = self._heights
        for sequence, below in reversed(nodes):
            height = 1 + max([heights.get(child, 0) for child in below], default=0)
            if height > heights.get(sequence, 0):
                heights[sequence] = height
                self.exhausted = self.exhausted or height > MAX_TOTAL
        if len(heights) > _REMEMBERED + _SPARE:  # At once: the first entry of a dict that lost many is long to find.
            self._heights = dict(islice(heights.items(), len(heights) - _REMEMBERED, None))
