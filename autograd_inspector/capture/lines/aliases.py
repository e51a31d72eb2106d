"""Writes through a NumPy array that shares a tensor's memory, read off the source of the function that made it so."""

from __future__ import annotations

import ast
from types import CodeType

from autograd_inspector.capture.lines.sources import compiled, scope_of, tree_of
from autograd_inspector.capture.tape import Tape
from autograd_inspector.model.event import AliasWrite
from autograd_inspector.model.op import Trait

_METHODS = {"fill", "sort", "partition", "put", "itemset", "resize", "setfield", "byteswap"}
_FUNCTIONS = {"copyto", "put", "place", "putmask", "fill_diagonal", "shuffle", "put_along_axis"}


def alias_writes(tape: Tape) -> list[AliasWrite]:
    """All such writes to arrays that ``.numpy()`` gave out, or that ``from_numpy`` took in, during the capture."""
    found = []
    for index, op in tape.ops.items():
        shares = op[0] == "from_numpy" or (op[8] & int(Trait.EXPORT) and op[0] in {"numpy", "__array__"})
        if shares and op[5] < len(tape.stacks.chains):
            chain = tape.stacks.chains[op[5]]
            user = next((entry for entry in chain if not entry[2]), None)
            if user is None:
                continue
            for line, how in _writes(user[0], user[1], inward=op[0] == "from_numpy"):
                found.append(AliasWrite(index, tape.stacks.of_line(op[5], line), how))
    return found


def _writes(code: CodeType, lasti: int, *, inward: bool) -> list[tuple[int, str]]:
    here = compiled(code, lasti, library=False)
    tree = tree_of(code.co_filename)
    if tree is None or here.column < 0:
        return []
    scope = scope_of(tree, here.lineno)
    array = _given(scope, here.lineno, here.column) if inward else here.target
    found = []
    for node in ast.walk(scope):
        line = getattr(node, "lineno", 0)
        if line < here.lineno:
            continue
        if not inward and _holds(node, here.lineno, here.column) and line == here.lineno:
            written = _written(node)
            if written is not None and _holds(written, here.lineno, here.column):
                found.append((line, ast.unparse(node)[:80]))
        elif array.isidentifier() and line > here.lineno:
            written = _written(node)
            if written is not None and _base_name(written) == array:
                found.append((line, ast.unparse(node)[:80]))
    return found


def _given(scope: ast.AST, line: int, column: int) -> str:
    """The variable that the call at a position was given."""
    for node in ast.walk(scope):
        if isinstance(node, ast.Call) and (node.lineno, node.col_offset) == (line, column) and node.args:
            return node.args[0].id if isinstance(node.args[0], ast.Name) else ""
    return ""


def _written(node: ast.AST) -> ast.expr | None:
    """The expression whose memory a node writes, if it writes any."""
    if isinstance(node, ast.AugAssign):
        return node.target
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        return node.targets[0]
    if isinstance(node, ast.Call):
        for keyword in node.keywords:
            if keyword.arg == "out":
                return keyword.value
        if isinstance(node.func, ast.Attribute):
            if node.func.attr in _METHODS:
                return node.func.value
            if node.func.attr in _FUNCTIONS and node.args:
                return node.args[0]
    return None


def _base_name(node: ast.expr) -> str:
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _holds(node: ast.AST, line: int, column: int) -> bool:
    """Whether the position lies inside the node."""
    start = (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))
    end = (getattr(node, "end_lineno", 0) or 0, getattr(node, "end_col_offset", 0) or 0)
    return start <= (line, column) < end
