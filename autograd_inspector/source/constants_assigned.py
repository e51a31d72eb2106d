"""Statements that set an attribute to a constant, ``layer.requires_grad = False``, or to something else."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from autograd_inspector.source.index import Source


class ConstantsAssigned:
    """Those of a file, by the name of the attribute and what it is set to; "" stands for no constant."""

    def __init__(self, source: Source) -> None:
        self._lines: dict[tuple[str, str], list[int]] = {}
        for node in source.nodes:
            if isinstance(node, ast.Assign):
                value = str(node.value.value) if isinstance(node.value, ast.Constant) else ""
                for name in {target.attr for target in node.targets if isinstance(target, ast.Attribute)}:
                    self._lines.setdefault((name, value), []).append(node.lineno)

    def lines_of(self, name: str, value: str) -> Sequence[int]:
        """The lines of those statements."""
        return self._lines.get((name, value), ())
