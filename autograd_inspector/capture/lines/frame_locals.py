"""The local variables of a running function, read without a trace in the program."""

from __future__ import annotations

import sys
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

from autograd_inspector.capture.lines.bytecode import instructions

_FUNCTION = 0x1
"""inspect.CO_OPTIMIZED: the frame's locals are slots, and f_locals is a copy of them (before Python 3.13)."""
_COPIED = sys.version_info < (3, 13)
_UNSHARED = 3
"""References to the copy when nobody but the frame holds it: the frame, our variable, getrefcount's argument."""
_KEEPERS = frozenset({"locals", "vars"})
"""Python's functions that give a function's copy to the program."""
_BEFORE_CALL = {"PRECALL", "PUSH_NULL", "CACHE"}


def locals_of(frame: FrameType) -> list[tuple[str, Any]]:
    """(name, value) of a running function's local variables; none, where the program may use the copy of them.

    Before Python 3.13 ``f_locals`` is a dictionary that the frame keeps, and ``locals()`` hands out: to ask for it
    brings all variables up to date in it, and undoes what the program wrote there. Left as it is, it would keep every
    local alive that the program deletes later. So it is emptied again, unless somebody else holds it; what ``exec`` put
    there beside the variables stays.
    """
    code = frame.f_code
    if not code.co_flags & _FUNCTION:
        return []
    if _COPIED and not _KEEPERS.isdisjoint(code.co_names) and _calls_keeper(code):
        return []
    snapshot = frame.f_locals
    variables = list(snapshot.items())
    if _COPIED and sys.getrefcount(snapshot) <= _UNSHARED:
        for name in (*code.co_varnames, *code.co_cellvars, *code.co_freevars):
            snapshot.pop(name, None)
    return variables


@lru_cache(maxsize=256)
def _calls_keeper(code: CodeType) -> bool:
    """Whether one is a function that it calls: ``vars(args)`` is about another object."""
    loaded = ""
    for instruction in instructions(code):
        if instruction.opname == "LOAD_GLOBAL" and instruction.argval in _KEEPERS:
            loaded = instruction.argval
        elif loaded and instruction.opname not in _BEFORE_CALL:
            if loaded == "locals" or (instruction.opname == "CALL" and not instruction.arg):
                return True
            loaded = ""
    return False
