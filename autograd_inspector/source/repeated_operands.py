"""Calls that write out that they repeat an entry: in ``torch.cat((x, x))`` none was kept from another time."""

from __future__ import annotations

import ast

from autograd_inspector.source.fragments import expression


def repeats_an_entry(text: str) -> bool:
    """Whether the first argument of a call has an expression twice, or is one that is repeated."""
    call = expression(text)
    if not isinstance(call, ast.Call):
        return False
    keywords = [keyword.value for keyword in call.keywords if keyword.arg == "tensors"]
    return any(_repeats(entries) for entries in [*call.args[:1], *keywords])


def _repeats(entries: ast.expr) -> bool:
    match entries:
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return len({ast.unparse(part) for part in parts}) < len(parts)
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            return any(isinstance(factor, (ast.Tuple, ast.List)) for factor in (left, right))
        case ast.ListComp(elt=ast.Name(id=name), generators=loops):
            bound = {node.id for loop in loops for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
            return name not in bound
    return False
