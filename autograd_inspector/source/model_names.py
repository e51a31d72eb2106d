"""Where a file gives an object another name (``self.old = self.model``), or a shallow copy (``copy.copy(net)``)."""

from __future__ import annotations

import ast
from typing import NamedTuple

from autograd_inspector.source.index import Source
from autograd_inspector.source.writing import written

_COPY = "copy"


class Naming(NamedTuple):
    """``of`` is the object as the line writes it."""

    line: int
    of: str
    copied: bool


class ModelNames:
    """By the name that is assigned: ``.old`` of an attribute of whatever object, ``client`` of a variable."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._namings: dict[str, list[Naming]] = {}
        for node in source.nodes:
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                key, value = _key(node.targets[0]), node.value
                copied = isinstance(value, ast.Call) and _called(value) == _COPY and len(value.args) == 1
                of = value.args[0] if copied and isinstance(value, ast.Call) else value
                if key and isinstance(of, (ast.Name, ast.Attribute, ast.Subscript)):
                    self._namings.setdefault(key, []).append(Naming(node.lineno, written(of), copied))

    def named_at(self, line: int, name: str) -> Naming | None:
        """Where what the line calls ``name`` got that name, if there is but one such line in reach; None: not known."""
        attribute = name.rpartition(".")[2] if "." in name else ""
        found = self._namings.get(f".{attribute}" if attribute else name, [])
        if not attribute:
            scope = self._source.scope_at(line)
            found = [each for each in found if self._source.scope_at(each.line) is scope]
        return found[0] if len(found) == 1 else None


def _key(target: ast.expr) -> str:
    if isinstance(target, ast.Attribute):
        return f".{target.attr}"
    return target.id if isinstance(target, ast.Name) else ""


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""
