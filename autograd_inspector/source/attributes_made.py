"""Where a class makes a container that it keeps as an attribute: ``self.blocks = []``."""

from __future__ import annotations

import ast

from autograd_inspector.source.index import Source

_MAKES = (ast.List, ast.Tuple, ast.Dict, ast.ListComp, ast.DictComp, ast.Call, ast.BinOp)


class AttributesMade:
    """The first assignment to each attribute within each class of a file."""

    def __init__(self, source: Source) -> None:
        self._lines: dict[tuple[str, str], int] = {}
        for node in source.nodes:
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, _MAKES):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    if isinstance(target, ast.Attribute):
                        self._lines.setdefault((_class_around(source, node), target.attr), node.lineno)

    def line(self, owner: str, attribute: str) -> int:
        """The line, 0 where the class has none."""
        return self._lines.get((owner, attribute), 0)


def _class_around(source: Source, node: ast.AST) -> str:
    while node in source.parents:
        node = source.parents[node]
        if isinstance(node, ast.ClassDef):
            return node.name
    return ""
