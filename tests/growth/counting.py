"""How many lines a call runs, a turn of a loop within one line being one more: the same on every machine."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any


def lines(call: Callable[[], object]) -> Counter[CodeType]:
    """Lines by function. Python tells of a line also where it jumps back within it, and of nothing that runs in C."""
    counts: Counter[CodeType] = Counter()

    def begin(frame: FrameType, event: str, arg: Any) -> Callable[..., Any]:
        code = frame.f_code

        def within(_: FrameType, event: str, arg: Any) -> Callable[..., Any]:
            if event == "line":
                counts[code] += 1
            return within

        return within

    before = sys.gettrace()
    sys.settrace(begin)
    try:
        call()
    finally:
        sys.settrace(before)
    return counts


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
