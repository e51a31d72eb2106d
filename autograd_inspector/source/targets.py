"""The variable that gets the value of an expression."""

from __future__ import annotations

import ast

from autograd_inspector.source.index import Source, Span, span_of
from autograd_inspector.source.writing import written


def target_at(source: Source, span: Span) -> str:
    """The variable that receives exactly the expression at ``span``, "" when none does."""
    for statement in source.assignments.get(span[0], ()):
        for target, value in _pairs(statement):
            if span_of(_wrapped(value)) == span:
                return written(target)
        if isinstance(statement, ast.AugAssign) and (statement.lineno, statement.col_offset) == (span[0], span[2]):
            return written(statement.target)
    return ""


def _wrapped(value: ast.expr) -> ast.expr:
    """What ``nn.Parameter`` makes a parameter of: no torch call shows the wrapping, and the memory is the same."""
    if not isinstance(value, ast.Call) or not value.args:
        return value
    called = value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", "")
    return value.args[0] if called == "Parameter" else value


def _pairs(statement: ast.stmt | ast.NamedExpr) -> list[tuple[ast.expr, ast.expr]]:
    if isinstance(statement, (ast.AnnAssign, ast.NamedExpr)):
        return [] if statement.value is None else [(statement.target, statement.value)]
    if not isinstance(statement, ast.Assign):
        return []
    target = statement.targets[0]
    if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
        return list(zip(target.elts, statement.value.elts, strict=False))
    return [(target, statement.value)]
