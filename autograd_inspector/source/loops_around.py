"""The ``for`` loops of a file, by the lines of their bodies."""

from __future__ import annotations

import ast

from autograd_inspector.source.index import Source


class LoopsAround:
    """Those of a file."""

    def __init__(self, source: Source) -> None:
        self._source = source
        loops = [node for node in source.nodes if isinstance(node, (ast.For, ast.AsyncFor))]
        self._loops = [(node.lineno, node.body[0].lineno, node.end_lineno or node.lineno) for node in loops]

    def head(self, line: int) -> int:
        """Where the innermost loop begins that has a line in its body, in the same function; 0: it is in none."""
        around = (head for head, first, last in self._loops if head < first <= line <= last)
        head = max(around, default=0)
        return head if head and self._source.scope_at(head) is self._source.scope_at(line) else 0
