"""Statements that switch an attribute off: ``layer.requires_grad = False``."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from autograd_inspector.source.index import Source


class SwitchedOff:
    """Those of a file, by the name of the attribute."""

    def __init__(self, source: Source) -> None:
        self._lines: dict[str, list[int]] = {}
        for node in source.nodes:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and node.value.value is False:
                for name in {target.attr for target in node.targets if isinstance(target, ast.Attribute)}:
                    self._lines.setdefault(name, []).append(node.lineno)

    def lines_of(self, name: str) -> Sequence[int]:
        """The lines of those statements."""
        return self._lines.get(name, ())
