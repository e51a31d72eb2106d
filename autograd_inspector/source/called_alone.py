"""Calls that are statements of their own: ``torch.set_grad_enabled(False)``."""

from __future__ import annotations

import ast

from autograd_inspector.source.index import Source


class CalledAlone:
    """Those of a file, by the name of the function."""

    def __init__(self, source: Source) -> None:
        self._lines: dict[str, list[int]] = {}
        for node in source.nodes:
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                called = node.value.func
                name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
                self._lines.setdefault(name, []).append(node.lineno)

    def before(self, line: int, name: str, first: int) -> int:
        """The last such call from ``first`` up to a line; 0: there is none."""
        return max((each for each in self._lines.get(name, ()) if first <= each <= line), default=0)
