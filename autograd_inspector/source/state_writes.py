"""Which lines of a function assign or drop optimizer state, as its text has them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

from autograd_inspector.source.index import Source
from autograd_inspector.source.writing import written

_ENTRY_OF = {"pop", "get", "setdefault"}
"""Methods of ``optimizer.state`` that return the state of one parameter."""
_PLACES = (ast.Name, ast.Attribute, ast.Subscript)
_WRAPPERS = {"list", "tuple", "enumerate"}
_EMPTY = {"dict", "defaultdict"}


class StateLine(NamedTuple):
    """``optimizer.state[p]["exp_avg"] = ...``: what it does, of which optimizer, and to which keys ((): not said)."""

    line: int
    what: str
    receiver: str
    keys: tuple[str, ...]


class StateWrites:
    """Those of a file; each function is read once."""

    def __init__(self, _: Source) -> None:
        self._lines_of_scope: dict[ast.AST, list[StateLine]] = {}

    def of(self, scope: ast.AST) -> list[StateLine]:
        """Those of one function, in the order of its lines; functions that it defines are not looked into."""
        lines = self._lines_of_scope.get(scope)
        if lines is None:
            lines = self._lines_of_scope[scope] = _state_lines(scope)
        return lines


def _state_lines(scope: ast.AST) -> list[StateLine]:
    nodes = list(_walk(scope))
    names = _Names()
    for _ in range(2):  # A name may be used above the line of a loop that binds it.
        for node in nodes:
            names.bind(node)
    return sorted({line for node in nodes for line in names.lines(node)})


def _walk(scope: ast.AST) -> Iterator[ast.AST]:
    todo = [scope]
    while todo:
        for node in ast.iter_child_nodes(todo.pop()):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
                yield node
                todo.append(node)


class _Names:
    """The variables of a function, attributes and items that hold the state of one parameter."""

    def __init__(self) -> None:
        self._entries: dict[str, str] = {}

    def bind(self, node: ast.AST) -> None:
        """Learn what an assignment or a loop binds."""
        if isinstance(node, ast.For):
            self._loop(node.target, node.iter)
        for name, value in _bound(node):
            receiver = self._entry(value)
            if receiver:
                self._entries[name] = receiver

    def _loop(self, target: ast.expr, over: ast.expr) -> None:
        while (
            isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.func.id in _WRAPPERS and over.args
        ):
            target = target.elts[-1] if over.func.id == "enumerate" and isinstance(target, ast.Tuple) else target
            over = over.args[0]
        if not isinstance(over, ast.Call) or not isinstance(over.func, ast.Attribute):
            return
        receiver = _whole(over.func.value)
        if receiver and over.func.attr == "items" and isinstance(target, ast.Tuple):
            target = target.elts[-1]
        elif over.func.attr != "values":
            return
        if receiver and isinstance(target, ast.Name):
            self._entries[target.id] = receiver

    def _entry(self, node: ast.expr) -> str:
        """The optimizer whose state of one parameter an expression is, "" when it is none."""
        if isinstance(node, _PLACES) and written(node) in self._entries:
            return self._entries[written(node)]
        if isinstance(node, ast.Subscript):
            return _whole(node.value)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ENTRY_OF:
            return _whole(node.func.value)
        return ""

    def lines(self, node: ast.AST) -> Iterator[StateLine]:
        """What one statement or call does to state."""
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from self._targets(target, node.value, "assigned")
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                yield from self._targets(target, None, "removed")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield from self._called(node, node.func)

    def _targets(self, target: ast.expr, value: ast.expr | None, what: str) -> Iterator[StateLine]:
        if isinstance(target, ast.Tuple):
            for part in target.elts:
                yield from self._targets(part, None, what)
        elif isinstance(target, ast.Subscript):
            whole, entry = _whole(target.value), self._entry(target.value)
            if whole:
                yield StateLine(target.lineno, "removed" if _is_empty(value) else what, whole, _keys(value))
            elif entry:
                yield StateLine(target.lineno, what, entry, _constants(target.slice))
        elif _whole(target):
            yield StateLine(target.lineno, "removed" if _is_empty(value) else what, _whole(target), ())

    def _called(self, node: ast.Call, func: ast.Attribute) -> Iterator[StateLine]:
        whole, entry = _whole(func.value), self._entry(func.value)
        receiver = whole or entry
        first = node.args[0] if node.args else None
        if not receiver:
            return
        if func.attr == "update":
            keywords = tuple(k.arg for k in node.keywords if k.arg)
            yield StateLine(node.lineno, "assigned", receiver, () if whole else (*_keys(first), *keywords))
        elif func.attr == "setdefault" and first is not None:
            made = _keys(node.args[-1]) if whole else _constants(first)
            yield StateLine(node.lineno, "assigned", receiver, made)
        elif func.attr in {"pop", "clear"}:
            yield StateLine(node.lineno, "removed", receiver, () if whole or first is None else _constants(first))


def _whole(node: Any) -> str:
    """``optimizer`` of ``optimizer.state``, "" of any other expression."""
    return written(node.value) if isinstance(node, ast.Attribute) and node.attr == "state" else ""


def _constants(node: ast.expr) -> tuple[str, ...]:
    return (node.value,) if isinstance(node, ast.Constant) and isinstance(node.value, str) else ()


def _keys(node: ast.expr | None) -> tuple[str, ...]:
    """The keys of a dictionary that is written out."""
    if isinstance(node, ast.Dict):
        return tuple(key for entry_key in node.keys if entry_key is not None for key in _constants(entry_key))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        return tuple(keyword.arg for keyword in node.keywords if keyword.arg)
    return ()


def _is_empty(node: ast.expr | None) -> bool:
    """``{}``, ``dict()``, ``defaultdict(dict)``: state starts anew."""
    if isinstance(node, ast.Dict):
        return not node.keys
    if not isinstance(node, ast.Call):
        return False
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return called in _EMPTY and not node.keywords and len(node.args) == (called == "defaultdict")


def _bound(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """(variable, attribute or item, the value that it gets) of an assignment in any of its forms."""
    pairs: list[tuple[ast.expr, ast.expr]] = []
    if isinstance(node, ast.Assign):
        pairs = [(target, node.value) for target in node.targets]
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
        pairs = [(node.target, node.value)]
    for target, value in pairs:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs += zip(target.elts, value.elts, strict=False)  # It grows on the way.
        elif isinstance(target, _PLACES):
            yield written(target), value
