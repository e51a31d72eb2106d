"""Whether the backward of a custom autograd.Function ever looks at the gradient that it is given."""

from __future__ import annotations

import dis
import inspect
from types import CodeType

from autograd_inspector.capture.stacks import USER, classify


def ignores_gradients(code: CodeType) -> bool:
    """Whether the user's own backward reads none of its arguments but the first (``ctx``), nor hands them on."""
    count = code.co_argcount + code.co_kwonlyargcount
    named = code.co_varnames[1:count]
    rest = code.co_varnames[count : count + bool(code.co_flags & inspect.CO_VARARGS)]
    gradients = {*named, *rest}
    if not gradients or classify(code.co_filename) != USER or gradients & {*code.co_cellvars}:
        return False
    # One instruction may load two variables: its argument then names both.
    loaded = {
        name
        for instruction in dis.get_instructions(code)
        if "LOAD_FAST" in instruction.opname
        for name in (instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,))
    }
    return not gradients & loaded
