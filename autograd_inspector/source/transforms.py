"""Functions that a file makes of others with a transform: ``batched = vmap(loss)``, ``@vmap``."""

from __future__ import annotations

import ast

from autograd_inspector.source.index import Function, Source


class Transforms:
    """Those of a file, by the transform and by what the function is called by."""

    def __init__(self, source: Source) -> None:
        self._lines: dict[tuple[str, str], list[int]] = {}
        for node in source.nodes:
            if isinstance(node, ast.Assign):
                self._note([_name(target) for target in node.targets], node.value)
            elif isinstance(node, Function):
                for decorator in node.decorator_list:
                    self._note([node.name, f".{node.name}"], decorator)

    def _note(self, names: list[str], value: ast.expr) -> None:
        for part in ast.walk(value):
            called = part.attr if isinstance(part, ast.Attribute) else getattr(part, "id", "")
            for name in names if called else ():
                self._lines.setdefault((called, name), []).append(value.lineno)

    def line_of(self, transform: str, called: ast.expr, before: int) -> int:
        """The last line above ``before``, else the last at all, that makes what is called so; 0: none does."""
        lines = self._lines.get((transform, _name(called)), [])
        return max((line for line in lines if line <= before), default=max(lines, default=0))


def _name(node: ast.expr) -> str:
    """A variable, or an attribute of whatever: ``.batched``."""
    return f".{node.attr}" if isinstance(node, ast.Attribute) else getattr(node, "id", "")
