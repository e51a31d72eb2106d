"""Which parts of an expression are modules or classes, whose functions it calls: ``fn`` of ``fn.relu_(w)``."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from types import ModuleType

from autograd_inspector.capture.lines.attributes import contents_of
from autograd_inspector.source.bindings import Bindings
from autograd_inspector.source.index import Source
from autograd_inspector.source.parts import Parts

_FARTHEST = 8
"""So many names that stand for other names are followed."""


def namespaces(source: Source, node: ast.expr, met: Mapping[str, str | None] | None) -> tuple[str, ...]:
    """The modules and classes in whose name an expression calls something; ``met``: the global ones of its frame."""
    names = _Names(source, node.lineno, met)
    return tuple(path for path in source.index(Parts).of(node).owners if names.is_namespace(path))


class _Names:
    """What the names that a line reads stand for."""

    def __init__(self, source: Source, line: int, met: Mapping[str, str | None] | None) -> None:
        self._source = source
        self._line = line
        self._met = met or {}

    def is_namespace(self, path: str) -> bool:
        """Whether a dotted path leads to a module or a class."""
        return issubclass(type(self._led_to(path, _FARTHEST)), (ModuleType, type))

    def _led_to(self, path: str, farthest: int) -> object:
        """The module or class at the end of a path, None where it ends elsewhere, or where only a run could tell."""
        root, *attributes = path.split(".")
        bindings = self._source.index(Bindings)
        scope = bindings.scope_of(root, self._line)
        local = scope is not None and scope is not self._source.tree
        reached: object = None
        if not local and root in self._met:
            name = self._met[root]
            reached = None if name is None else sys.modules.get(name) if name else type
        elif scope is not None and farthest:
            meaning = bindings.meaning(root, scope)
            if meaning.imported:
                reached = _imported(meaning.path)
            elif meaning.path:
                reached = self._led_to(meaning.path, farthest - 1)
        return _within(reached, attributes)


def _imported(path: str) -> object:
    module, _, name = path.rpartition(".")
    submodule = sys.modules.get(path)
    return _within(sys.modules.get(module), [name]) if submodule is None else submodule


def _within(value: object, attributes: list[str]) -> object:
    """What a module has at the end of those attributes, without asking one that computes them."""
    for name in attributes:
        if not issubclass(type(value), ModuleType):
            return None
        contents = contents_of(value)
        called = contents.get("__name__")
        value = contents.get(name, sys.modules.get(f"{called}.{name}") if type(called) is str else None)
    return value
