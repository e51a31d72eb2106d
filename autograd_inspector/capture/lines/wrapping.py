"""Where a function got its grad mode: its decorator, or the call that wraps it (``torch.no_grad()(self._extract)``)."""

from __future__ import annotations

import ast
from types import CodeType

from autograd_inspector.capture.lines.cells import lines_of
from autograd_inspector.capture.lines.sources import tree_of
from autograd_inspector.capture.lines.stacks import USER, Stacks, classify

_SWITCHES = {"no_grad", "inference_mode", "set_grad_enabled"}


def switched_at(stacks: Stacks, code: CodeType) -> int:
    """The site of the decorator; of a function that has none, of the line that wraps it, else of its definition."""
    lines = lines_of(code.co_filename) if classify(code.co_filename) == USER else []
    first = lines[code.co_firstlineno - 1].lstrip() if 0 < code.co_firstlineno <= len(lines) else "@"
    if first.startswith("@"):
        return stacks.of_code(code)
    tree = tree_of(code.co_filename)
    for node in ast.walk(tree) if tree is not None else ():
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Call)
            and _last(node.func.func) in _SWITCHES
            and any(_last(argument) == code.co_name for argument in node.args)
        ):
            return stacks.of_code(code, node.lineno)
    return stacks.of_code(code)


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
