"""Where the source assigns or drops optimizer state: in a hand-written optimizer's class, and in the program around it.

State is a plain dictionary: nothing shows when somebody writes to it.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from autograd_inspector.capture.cells import lines_of
from autograd_inspector.capture.sources import compiled, tree_of
from autograd_inspector.capture.stacks import USER, classify
from autograd_inspector.capture.tape import Tape
from autograd_inspector.model.event import Change

_STATE = re.compile(r"\.state\b")
_ENTRY_OF = {"pop", "get", "setdefault"}
"""Methods of ``optimizer.state`` that return the state of one parameter."""
_WRAPPERS = {"list", "tuple", "enumerate"}
_SELF = "self"

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Module


class StateLine(NamedTuple):
    """``optimizer.state[p]["exp_avg"] = ...``: what it does, of which optimizer, and to which keys ((): not said)."""

    line: int
    what: str
    receiver: str
    keys: tuple[str, ...]


def codes_of(kind: type) -> tuple[CodeType, ...]:
    """The methods that the user wrote of an optimizer's class."""
    methods = (inspect.unwrap(m) for base in kind.__mro__ for m in vars(base).values() if isinstance(m, FunctionType))
    return tuple(m.__code__ for m in methods if classify(m.__code__.co_filename) == USER)


def state_changes(tape: Tape) -> Iterator[Change]:
    """The lines of the classes of the capture's optimizers, then those of the functions that it saw run."""
    own: set[CodeType] = set()
    for record in tape.optimizers.values():
        codes = tape.steppers.get((record.module, record.type), ())
        own.update(codes)
        for code in codes:
            for found in _lines(code, code.co_firstlineno):
                if found.receiver == _SELF:
                    yield _change(tape, code, found, record.type, record.id)
    if not tape.optimizers:
        return
    seen: set[CodeType] = set()
    for code, lasti, library in [entry for chain in tape.stacks.chains for entry in chain]:
        if not library and code not in own and code not in seen:
            seen.add(code)
            for found in _lines(code, compiled(code, lasti, library=False).lineno) if _mentions(code) else ():
                if found.receiver != _SELF:
                    yield _change(tape, code, found, found.receiver, -1)


def _change(tape: Tape, code: CodeType, found: StateLine, api: str, optimizer: int) -> Change:
    site = tape.stacks.of_code(code, found.line)
    return Change(len(tape.ops), "state_line", api, site, (), optimizer, (found.what, found.receiver, *found.keys))


def _mentions(code: CodeType) -> bool:
    return any(map(_STATE.search, lines_of(code.co_filename)))


def _lines(code: CodeType, line: int) -> Iterator[StateLine]:
    tree = tree_of(code.co_filename)
    if tree is None:
        return
    scope: Function = tree
    if code.co_name != "<module>":
        inside = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and node.name == code.co_name
            and min([node.lineno, *(d.lineno for d in node.decorator_list)]) <= line <= (node.end_lineno or 0)
        ]
        if not inside:
            return
        scope = inside[-1]
    yield from state_lines(scope)


def state_lines(scope: Function) -> list[StateLine]:
    """Those of one function, in the order of its lines; functions that it defines are not looked into."""
    nodes = list(_walk(scope))
    names = _Names()
    for _ in range(2):  # A name may be used above the line of a loop that binds it.
        for node in nodes:
            names.bind(node)
    return sorted({line for node in nodes for line in names.lines(node)})


def _walk(scope: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(scope):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield node
            yield from _walk(node)


class _Names:
    """The variables of a function that hold the state of one parameter."""

    def __init__(self) -> None:
        self._entries: dict[str, str] = {}

    def bind(self, node: ast.AST) -> None:
        """Learn what an assignment or a loop binds."""
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            receiver = self._entry(node.value)
            if receiver:
                self._entries[node.targets[0].id] = receiver
        elif isinstance(node, ast.For):
            self._loop(node.target, node.iter)

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
        if isinstance(node, ast.Name):
            return self._entries.get(node.id, "")
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
                yield StateLine(target.lineno, what, whole, _keys(value))
            elif entry:
                yield StateLine(target.lineno, what, entry, _constants(target.slice))
        elif _whole(target):
            yield StateLine(target.lineno, what, _whole(target), ())

    def _called(self, node: ast.Call, func: ast.Attribute) -> Iterator[StateLine]:
        whole, entry = _whole(func.value), self._entry(func.value)
        receiver = whole or entry
        first = node.args[0] if node.args else None
        if not receiver:
            return
        if func.attr == "update":
            given = tuple(k.arg for k in node.keywords if k.arg)
            yield StateLine(node.lineno, "assigned", receiver, () if whole else (*_keys(first), *given))
        elif func.attr == "setdefault" and first is not None:
            made = _keys(node.args[-1]) if whole else _constants(first)
            yield StateLine(node.lineno, "assigned", receiver, made)
        elif func.attr in {"pop", "clear"}:
            yield StateLine(node.lineno, "removed", receiver, () if whole or first is None else _constants(first))


def _whole(node: Any) -> str:
    """``optimizer`` of ``optimizer.state``, "" of any other expression."""
    return ast.unparse(node.value) if isinstance(node, ast.Attribute) and node.attr == "state" else ""


def _constants(node: ast.expr) -> tuple[str, ...]:
    return (node.value,) if isinstance(node, ast.Constant) and isinstance(node.value, str) else ()


def _keys(node: ast.expr | None) -> tuple[str, ...]:
    """The keys of a dictionary that is written out."""
    if isinstance(node, ast.Dict):
        return tuple(key for given in node.keys if given is not None for key in _constants(given))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        return tuple(keyword.arg for keyword in node.keywords if keyword.arg)
    return ()
