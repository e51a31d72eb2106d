"""How many bytecode instructions a call runs: the same on every machine, and loops without calls are seen too."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any


def instructions(call: Callable[[], object]) -> Counter[CodeType]:
    """Instructions by function. What runs in C is not among them."""
    found: Counter[CodeType] = Counter()

    def begin(frame: FrameType, event: str, arg: Any) -> Callable[..., Any]:
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        code = frame.f_code

        def within(_: FrameType, event: str, arg: Any) -> Callable[..., Any]:
            if event == "opcode":
                found[code] += 1
            return within

        return within

    before = sys.gettrace()
    sys.settrace(begin)
    try:
        call()
    finally:
        sys.settrace(before)
    return found


def superlinear(
    small: Counter[CodeType], large: Counter[CodeType], times: float, most: float
) -> list[tuple[str, int, int]]:
    """(function, instructions before, after) of those that grew more than ``most`` times what they worked on did.

    A function that is of no account beside the whole may do so.
    """
    enough = large.total() / 100
    return [
        (f"{code.co_filename.rpartition('/')[2]}:{code.co_qualname}", small[code], count)
        for code, count in large.most_common()
        if count > enough and count > times * most * small[code]
    ]
