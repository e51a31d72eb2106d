"""Whether the backward of a custom autograd.Function ever looks at the gradients that it is given."""

from __future__ import annotations

import inspect
from types import CodeType

from autograd_inspector.capture.lines.bytecode import instructions
from autograd_inspector.capture.lines.sources import definition_of
from autograd_inspector.capture.lines.stacks import USER, classify
from autograd_inspector.source.layout_reads import layout_reads


def ignores_gradients(code: CodeType) -> bool:
    """Whether the user's own backward uses none of its arguments but the first (``ctx``), nor hands them on.

    To ask for a gradient's shape and dtype, as ``torch.ones_like(grad)`` does, is no use of it.
    """
    gradients = _gradients(code)
    if not gradients or classify(code.co_filename) != USER or gradients & {*code.co_cellvars}:
        return False
    if not gradients & _loaded(code):
        return True
    definition = definition_of(code)
    return definition is not None and all(idle for _, idle in layout_reads(definition, gradients))


def ignored_gradients(code: CodeType) -> tuple[int, ...]:
    """Which outputs' gradients the user's own backward never looks at, where it looks at that of another one."""
    names = code.co_varnames[1 : code.co_argcount]
    if not names[1:] or classify(code.co_filename) != USER:
        return ()
    loaded = _loaded(code).union(code.co_cellvars)
    return tuple(number for number, name in enumerate(names) if name not in loaded) if loaded & {*names} else ()


def _loaded(code: CodeType) -> set[str]:
    """The local variables that a function reads. One instruction may load two: its argument then names both."""
    return {
        name
        for instruction in instructions(code)
        if "LOAD_FAST" in instruction.opname
        for name in (instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,))
    }


def asked_at(code: CodeType) -> int | None:
    """The first line that asks for no more than a gradient's layout."""
    definition = definition_of(code)
    reads = () if definition is None else layout_reads(definition, _gradients(code))
    return min((read.lineno for read, idle in reads if idle), default=None)


def _gradients(code: CodeType) -> set[str]:
    count = code.co_argcount + code.co_kwonlyargcount
    rest = code.co_varnames[count : count + bool(code.co_flags & inspect.CO_VARARGS)]
    return {*code.co_varnames[1:count], *rest}
