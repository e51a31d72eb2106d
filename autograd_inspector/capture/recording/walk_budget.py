"""How deep autograd graphs may be walked without endangering the program.

A Node that Python has met is freed recursively, long after Python let go of it: one stack frame deeper for each such
Node on a path, however many others lie between. Some 40,000 of them overflow an 8 MB stack (torch 2.13). So each walk
is bounded, and walks that continue each other are bounded together.
"""

from __future__ import annotations

MAX_DEPTH = 5_000
"""Nodes met along any path of one walk."""

MAX_WIDTH = 20_000
"""Inputs of a Node that a walk opens."""

MAX_TOTAL = 15_000
"""Nodes met along any path by all walks; the walk that exceeds it is the last one."""
