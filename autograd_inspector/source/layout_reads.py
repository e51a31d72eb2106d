"""Where a function reads variables, and whether it asks for no more than the layout of what they hold."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autograd_inspector.source.index import Function

_LAYOUT = {"shape", "dtype", "device", "layout", "ndim", "is_cuda", "requires_grad"}
_ASKING = {"size", "dim", "ndimension", "numel", "nelement", "stride", "element_size"}


def layout_reads(definition: Function, gradients: set[str]) -> Iterator[tuple[ast.Name, bool]]:
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
