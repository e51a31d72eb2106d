"""Where a file puts values into attributes and containers: ``self.h = h``, ``memory[i] = h``, ``history.append(h)``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from autograd_inspector.source.index import Source

_ADDING = frozenset(
    {"append", "appendleft", "extend", "insert", "add", "put", "put_nowait", "update", "setdefault", "push", "store"}
)


class Store(NamedTuple):
    """A statement or call that stores; ``within``: the classes around it, innermost first."""

    line: int
    within: tuple[str, ...]


class Stores:
    """Those of a file that store more than a constant, by what they store into: ``.state`` or ``memory``."""

    def __init__(self, source: Source) -> None:
        self._stores: dict[str, list[Store]] = {}
        self._parents = source.parents
        for node in source.nodes:
            for target in _targets(node):
                name = _base(target)
                if name:
                    line = getattr(node, "lineno", 0)
                    self._stores.setdefault(name, []).append(Store(line, tuple(self._classes(node))))

    def into(self, name: str) -> list[Store]:
        """The statements that store there, from the top of the file."""
        return sorted(self._stores.get(name, ()))

    def _classes(self, node: ast.AST) -> Iterator[str]:
        while node in self._parents:
            node = self._parents[node]
            if isinstance(node, ast.ClassDef):
                yield node.name


def _targets(node: ast.AST) -> Iterator[ast.expr]:
    """What a statement or a call stores into; nothing where it stores a constant, or an empty container."""
    if isinstance(node, ast.Assign):
        if not _constant(node.value):
            for target in node.targets:
                yield from _flat(target)
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        if node.value is not None and not _constant(node.value):
            yield node.target
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ADDING:
        yield ast.Subscript(node.func.value, ast.Constant(value=None))


def _flat(target: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, (ast.Tuple, ast.List)):
        for part in target.elts:
            yield from _flat(part)
    else:
        yield target.value if isinstance(target, ast.Starred) else target


def _base(target: ast.expr) -> str:
    """The attribute, or the variable whose entry it is; "" for a variable that is merely assigned."""
    entry = isinstance(target, ast.Subscript)
    while isinstance(target, ast.Subscript):
        target = target.value
    if isinstance(target, ast.Attribute):
        return f".{target.attr}"
    return target.id if entry and isinstance(target, ast.Name) else ""


def _constant(value: ast.expr) -> bool:
    """A literal, an empty container, or containers of these."""
    if isinstance(value, (ast.Tuple, ast.List, ast.Set)):
        return all(map(_constant, value.elts))
    if isinstance(value, ast.Dict):
        return all(map(_constant, value.values))
    if isinstance(value, ast.Call):
        return not value.args and not value.keywords and isinstance(value.func, ast.Name)
    return isinstance(value, ast.Constant)
