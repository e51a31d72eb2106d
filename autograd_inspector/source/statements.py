"""The statement around an expression: what it assigns, and which block it opens."""

from __future__ import annotations

import ast

from autograd_inspector.source.index import Source, Span
from autograd_inspector.source.writing import written


class Statements:
    """Those of a file by the lines of their own: of a loop or a ``with`` those of its head."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._by_line: dict[int, list[ast.stmt]] = {}
        for node in source.nodes:
            if isinstance(node, ast.stmt):
                for line in range(node.lineno, _last_of_head(node) + 1):
                    self._by_line.setdefault(line, []).append(node)

    def around(self, span: Span) -> ast.stmt | None:
        """The innermost statement whose own lines hold the expression that stands there."""
        # Breadth first: what comes later lies further in.
        return next((node for node in reversed(self._by_line.get(span[0], ())) if _holds(node, span)), None)

    def assigned(self, span: Span) -> str:
        """The variable that the statement around an expression assigns, "" where it assigns none, or several.

        What binds a name inside the statement, ``if (loss := …) > 1:``, is nearer than the statement.
        """
        for named in reversed(self._source.assignments.get(span[0], ())):
            if isinstance(named, ast.NamedExpr) and _holds(named, span):
                return named.target.id
        match self.around(span):
            case ast.Assign(targets=[target]) | ast.AnnAssign(target=target) | ast.AugAssign(target=target):
                return written(target) if isinstance(target, (ast.Name, ast.Attribute)) else ""
        return ""

    def block_end(self, span: Span) -> int:
        """The last line of the ``with`` statement whose head holds the expression; 0: it is no part of one's head."""
        node = self.around(span)
        return (node.end_lineno or 0) if isinstance(node, (ast.With, ast.AsyncWith)) else 0


def _holds(node: ast.stmt | ast.NamedExpr, span: Span) -> bool:
    end = (node.end_lineno or 0, node.end_col_offset or 0)
    return (node.lineno, node.col_offset) <= (span[0], span[2]) and (span[1], span[3]) <= end


def _last_of_head(node: ast.stmt) -> int:
    """A match statement, and one that has its block on its own line, have all of their lines."""
    body = getattr(node, "body", None)
    if not isinstance(body, list) or not body:
        return node.end_lineno or node.lineno
    first: ast.stmt = body[0]
    return max(node.lineno, first.lineno - 1)
