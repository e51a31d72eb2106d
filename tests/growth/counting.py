"""How many lines a call runs, a turn of a loop within one line being one more: the same on every machine."""

from __future__ import annotations

import dis
import functools
import sys
from collections import Counter
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any


def lines(call: Callable[[], object]) -> Counter[CodeType]:
    """Lines by function. Python tells of a line also where it jumps back within it, and of nothing that runs in C.

    To be told is slow: a function without a loop counts as all its lines.
    """
    counts: Counter[CodeType] = Counter()

    def within(frame: FrameType, event: str, arg: Any) -> Callable[..., Any]:
        if event == "line":
            counts[frame.f_code] += 1
        return within

    def begin(frame: FrameType, event: str, arg: Any) -> Callable[..., Any] | None:
        straight = straight_lines(frame.f_code)
        if not straight:
            return within
        counts[frame.f_code] += straight
        return None

    before = sys.gettrace()
    sys.settrace(begin)
    try:
        call()
    finally:
        sys.settrace(before)
    return counts


@functools.cache
def straight_lines(code: CodeType) -> int:
    """The number of lines of a function that has no loop; 0 of one that has."""
    if any("BACKWARD" in each.opname for each in dis.get_instructions(code)):
        return 0
    return len({line for _, _, line in code.co_lines()})


def superlinear(
    small: Counter[CodeType], large: Counter[CodeType], times: float, most: float
) -> list[tuple[str, int, int]]:
    """(function of the inspector, lines before, after): what grew more than ``most`` times what it worked on did.

    A function that is of no account beside the whole may do so.
    """
    enough = large.total() * 0.03
    return [
        (f"{code.co_filename.rpartition('/')[2]}:{code.co_qualname}", small[code], count)
        for code, count in large.most_common()
        if count > enough and count > times * most * small[code] > 0 and "autograd_inspector" in code.co_filename
    ]
