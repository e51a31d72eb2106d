"""How large expressions are, and what the calls in them are looked up in."""

from __future__ import annotations

import ast
from typing import NamedTuple

from autograd_inspector.source.bindings import path_of
from autograd_inspector.source.index import Source

_MOST_OWNERS = 32
"""So many are told of one expression."""


class Part(NamedTuple):
    """An expression's nodes, counted, and the dotted paths whose attributes its calls call: ``nn.init``."""

    size: int
    owners: tuple[str, ...]


class Parts:
    """Those of a file, as they are asked for: an expression and all that it is a part of are gone through once.

    Each op of one long expression has a part of it for its place, and most of these hold nearly all the others.
    """

    def __init__(self, source: Source) -> None:  # noqa: ARG002 - as every index of a file is made
        self._part_of_node: dict[ast.AST, Part] = {}

    def of(self, node: ast.AST) -> Part:
        """That expression."""
        part_of_node = self._part_of_node
        unknown, left = [], [node]
        while left:
            each = left.pop()
            if each not in part_of_node:
                unknown.append(each)
                left += ast.iter_child_nodes(each)
        for each in reversed(unknown):  # What is inside comes first.
            part_of_node[each] = _joined(each, [part_of_node[child] for child in ast.iter_child_nodes(each)])
        return part_of_node[node]


def _joined(node: ast.AST, inside: list[Part]) -> Part:
    owner = path_of(node.func.value) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
    owners = dict.fromkeys([owner] if owner else [])
    for part in inside:
        owners |= dict.fromkeys(part.owners)
    return Part(1 + sum([part.size for part in inside]), tuple(owners)[:_MOST_OWNERS])
