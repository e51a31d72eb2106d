"""Where a function of the program's returns something."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType

from autograd_inspector.capture.lines.bytecode import instructions

_RETURNS = frozenset({"RETURN_VALUE", "RETURN_CONST"})


def returns(code: CodeType) -> Iterator[tuple[dis.Instruction, int]]:
    """(the instruction that returns, the line of its statement).

    Out of a `with` block the value is swapped below what ends the block, and returned on the line of the `with`.
    """
    line, swapped, computed = code.co_firstlineno, -1, -1
    for instruction in instructions(code):
        before = line
        line = (instruction.positions.lineno if instruction.positions is not None else None) or line
        if instruction.opname == "SWAP" and line != before:
            swapped, computed = line, computed if before == swapped else before
        if instruction.opname in _RETURNS:
            yield instruction, computed if line == swapped else line
            swapped = -1
