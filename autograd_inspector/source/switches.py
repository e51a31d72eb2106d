"""Calls that wrap a function in a grad mode: ``torch.no_grad()(self._extract)``."""

from __future__ import annotations

import ast

from autograd_inspector.source.index import Source

_SWITCHES = {"no_grad", "inference_mode", "set_grad_enabled"}


class Switches:
    """Those of a file, by the name of the function that they wrap."""

    def __init__(self, source: Source) -> None:
        self._lines: dict[str, int] = {}
        for node in source.nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Call) and _last(node.func.func) in _SWITCHES:
                for argument in node.args:
                    self._lines.setdefault(_last(argument), node.lineno)

    def line_of(self, name: str) -> int:
        """The first line that wraps a function of that name; 0: none does."""
        return self._lines.get(name, 0)


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
