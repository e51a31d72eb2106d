"""Whether the backward of a custom autograd.Function ever looks at the gradient that it is given."""

from __future__ import annotations

import ast
import dis
import inspect
from collections.abc import Iterator
from types import CodeType

from autograd_inspector.capture.lines.sources import definition_of
from autograd_inspector.capture.lines.stacks import USER, classify
from autograd_inspector.source.index import Function

_LAYOUT = {"shape", "dtype", "device", "layout", "ndim", "is_cuda", "requires_grad"}
_ASKING = {"size", "dim", "ndimension", "numel", "nelement", "stride", "element_size"}


def ignores_gradients(code: CodeType) -> bool:
    """Whether the user's own backward uses none of its arguments but the first (``ctx``), nor hands them on.

    To ask for a gradient's shape and dtype, as ``torch.ones_like(grad)`` does, is no use of it.
    """
    gradients = _gradients(code)
    if not gradients or classify(code.co_filename) != USER or gradients & {*code.co_cellvars}:
        return False
    # One instruction may load two variables: its argument then names both.
    loaded = {
        name
        for instruction in dis.get_instructions(code)
        if "LOAD_FAST" in instruction.opname
        for name in (instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,))
    }
    if not gradients & loaded:
        return True
    definition = definition_of(code)
    return definition is not None and all(idle for _, idle in _reads(definition, gradients))


def asked_at(code: CodeType) -> int | None:
    """The first line that asks for no more than a gradient's layout."""
    definition = definition_of(code)
    reads = () if definition is None else _reads(definition, _gradients(code))
    return min((read.lineno for read, idle in reads if idle), default=None)


def _gradients(code: CodeType) -> set[str]:
    count = code.co_argcount + code.co_kwonlyargcount
    rest = code.co_varnames[count : count + bool(code.co_flags & inspect.CO_VARARGS)]
    return {*code.co_varnames[1:count], *rest}


def _reads(definition: Function, gradients: set[str]) -> Iterator[tuple[ast.Name, bool]]:
    """(where a variable of those is read, whether it is for its layout alone)."""
    asked = {id(part) for node in ast.walk(definition) for part in _asked(node)}
    for node in ast.walk(definition):
        if isinstance(node, ast.Name) and node.id in gradients and isinstance(node.ctx, ast.Load):
            yield node, id(node) in asked


def _asked(node: ast.AST) -> list[ast.AST]:
    """What an expression takes the layout of, and nothing else."""
    if isinstance(node, ast.Attribute) and node.attr in _LAYOUT:
        return [node.value]
    if not isinstance(node, ast.Call):
        return []
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    # Zeros are a derivative as any other, whatever they would be multiplied by.
    if called.endswith("_like") and called != "zeros_like":
        return [node.args[0]] if node.args else []
    fills = called.startswith("new_") and called != "new_zeros"
    if isinstance(node.func, ast.Attribute) and (fills or called in _ASKING):
        return [node.func.value]
    return []
