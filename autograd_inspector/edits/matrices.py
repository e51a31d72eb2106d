"""Lists of tensors and numbers that are written out, row by row: what stacks them keeps their graph."""

from __future__ import annotations

import ast

from autograd_inspector.edits.program import Program
from autograd_inspector.source.fragments import is_path


def stacked(program: Program, node: ast.expr) -> str:
    """``torch.stack([torch.stack([c, -s]), torch.stack([s, c])])`` of ``[[c, -s], [s, c]]``; "" of anything else."""
    if not isinstance(node, ast.List) or not node.elts:
        return ""
    rows = [row for row in node.elts if isinstance(row, ast.List)]
    if not rows:
        return _row(program, node, node)
    written = [_row(program, row, node) for row in rows]
    if len(rows) < len(node.elts) or not all(written) or len({len(row.elts) for row in rows}) > 1:
        return ""
    return f"torch.stack([{', '.join(written)}])"


def _row(program: Program, row: ast.List, whole: ast.List) -> str:
    """One row; its numbers become tensors like one of those beside them."""
    if not row.elts or any(isinstance(part, (ast.Starred, ast.List)) for part in row.elts):
        return ""
    made = f"{like}.new_tensor" if (like := _named(program, whole)) else "torch.tensor"
    parts = (
        f"{made}({float(ast.literal_eval(part))})" if _is_number(part) else program.written(part) for part in row.elts
    )
    return f"torch.stack([{', '.join(parts)}])"


def _named(program: Program, whole: ast.List) -> str:
    """The first entry, or its negative, that is a variable or an attribute of one."""
    rows = (row.elts if isinstance(row, ast.List) else [row] for row in whole.elts)
    parts = (part.operand if isinstance(part, ast.UnaryOp) else part for entries in rows for part in entries)
    return next((program.written(part) for part in parts if is_path(part)), "")


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool)
