"""Where a file puts a variable away for good: ``history.append(loss)``, or a helper or hook that is given it."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cached_property
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from autograd_inspector.source.index import Function, Source, Span, span_of

_KEEPING = frozenset(
    {"append", "appendleft", "extend", "insert", "add", "put", "put_nowait", "update", "setdefault", "push", "store"}
)
_HOOKS = frozenset({"register_forward_hook", "register_module_forward_hook"})
_VIEWS = frozenset({"items", "values"})
_WALKS = frozenset({"zip", "enumerate", "reversed", "list", "tuple", "sorted"})
_DEEPEST = 3
"""Helpers that call helpers are followed so far."""

_HOOK_KINDS = (ast.FunctionDef, ast.Lambda)


class Given(NamedTuple):
    """A call of a function by its name, with the places and keywords at which it is given the variables."""

    callee: str
    places: frozenset[int]
    keywords: frozenset[str]


class Keeping:
    """What a file keeps. Each function is read once; what a call leads to is worked out once for all who call so."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._scopes: dict[ast.AST, Scope] = {}
        self._lines: dict[tuple[ast.AST, frozenset[str], int], int] = {}
        self._helpers: dict[tuple[Given, int], tuple[tuple[Function, int], ...]] = {}

    def kept_at(self, scope: ast.AST, names: Iterable[str]) -> int:
        """The line within a scope, or within a helper that it calls, that keeps one of the variables; 0: none does."""
        return self._kept(scope, frozenset(names), _DEEPEST)

    def field_kept_at(self, scope: ast.AST, names: Iterable[str], fields: Iterable[str]) -> int:
        """The line within a scope that keeps ``outputs.loss`` or ``outputs["loss"]`` of a variable; 0: none does."""
        return self._facts(scope).stored_field({*names}, {*fields})

    def part_kept_at(self, scope: ast.AST, paths: Iterable[str]) -> int:
        """The line within a scope that keeps ``self.loss`` or ``out["loss"]``, assigned there; 0: none does."""
        parts = {_field(node) for path in paths if (node := _read(path)) is not None}
        return self._facts(scope).stored_part({part for part in parts if part is not None})

    def returned_at(self, scope: ast.AST, names: Iterable[str]) -> int:
        """The line within a function that returns one of the variables, whole; 0: none does."""
        wanted = {*names}
        returns = (node for node in ast.walk(scope) if isinstance(node, ast.Return) and node.value is not None)
        parts = ((node.lineno, _parts([node.value])) for node in returns if node.value is not None)
        return next((line for line, values in parts for v in values if isinstance(v, ast.Name) and v.id in wanted), 0)

    def _kept(self, scope: ast.AST, names: frozenset[str], depth: int) -> int:
        key = scope, names, depth
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = self._line(scope, names, depth)
        return line

    def _line(self, scope: ast.AST, names: frozenset[str], depth: int) -> int:
        facts = self._facts(scope)
        spread = facts.spread(names)
        stored = facts.stored(spread)
        for handover in facts.handovers(spread) if depth and not stored else ():
            # A function that calls itself is being read already.
            line = next((line for function, line in self._kept_by(handover, depth) if function is not scope), 0)
            if line:
                return line
        return stored

    def _facts(self, scope: ast.AST) -> Scope:
        facts = self._scopes.get(scope)
        if facts is None:
            facts = self._scopes[scope] = Scope(scope)
        return facts

    def _kept_by(self, handover: Given, depth: int) -> tuple[tuple[Function, int], ...]:
        """(function of that name, the line where it keeps what it is given): the first two that do."""
        keepers = self._helpers.get((handover, depth))
        if keepers is None:
            hits: list[tuple[Function, int]] = []
            for function in self._source.named.get(handover.callee, ()):
                parameters = _parameters(function, handover)
                line = self._kept(function, parameters, depth - 1) if parameters else 0
                if line:
                    hits.append((function, line))
                    if len(hits) > 1:
                        break
            keepers = self._helpers[handover, depth] = tuple(hits)
        return keepers

    @cached_property
    def hooked(self) -> int:
        """The line where a forward hook keeps the output that it is given; 0: none does."""
        line_of_hook: dict[tuple[str, bool], int] = {}
        for node in self._source.nodes:
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in _HOOKS
                and node.args
            ):
                hook = node.args[0]
                if isinstance(hook, ast.Lambda):
                    line = self._kept_by_hook(hook)
                else:
                    key = _called(hook), isinstance(hook, ast.Call)
                    if key not in line_of_hook:
                        line_of_hook[key] = self._hook_named(*key)
                    line = line_of_hook[key]
                if line:
                    return line
        return 0

    def _hook_named(self, name: str, made: bool) -> int:  # noqa: FBT001 - a pair from the caller's key
        """The same of the hooks that an expression may mean: a name, ``self.hook``, ``make_hook(name)``."""
        for function in self._source.named.get(name, ()):
            if isinstance(function, ast.FunctionDef):
                inner = (n for n in ast.walk(function) if isinstance(n, _HOOK_KINDS) and n is not function)
                for hook in inner if made else (function,):
                    line = self._kept_by_hook(hook)
                    if line:
                        return line
        return 0

    def _kept_by_hook(self, hook: ast.FunctionDef | ast.Lambda) -> int:
        return self._kept(hook, frozenset([argument.arg for argument in hook.args.args][-1:]), 0)

    @cached_property
    def _displayed(self) -> dict[Span, set[str]]:
        displayed: dict[Span, set[str]] = {}
        for node in self._source.nodes:
            if isinstance(node, ast.Assign):
                names = {target.id for target in node.targets if isinstance(target, ast.Name)}
                for part in _parts([node.value]):
                    if part is not node.value:
                        displayed.setdefault(span_of(part), names)
        return displayed

    def collected(self, span: Span) -> set[str]:
        """The variable that gets the value there as a part of a display: ``losses = {"ce": loss(x), "l2": ...}``."""
        return self._displayed.get(span, set())


class Scope:
    """What one function keeps, hands on and goes over, by the names of its variables."""

    def __init__(self, scope: ast.AST) -> None:
        self._stored: dict[str, tuple[int, int]] = {}
        """Variable -> (how many nodes come before, line) of the first statement that keeps it."""
        self._fields: dict[tuple[str, str], tuple[int, int]] = {}
        """(variable, attribute or key) -> the same of the first statement that keeps that part of it."""
        self._handed: dict[str, list[int]] = {}
        self._calls: list[ast.Call] = []
        self._over: dict[str, list[int]] = {}
        self._targets: list[set[str]] = []
        for order, node in enumerate(ast.walk(scope)):
            for value in _stored(node):
                if isinstance(value, ast.Name):
                    self._stored.setdefault(value.id, (order, getattr(node, "lineno", 0)))
                elif (part := _field(value)) is not None:
                    self._fields.setdefault(part, (order, getattr(node, "lineno", 0)))
            if isinstance(node, ast.Call):
                for name in _variables(node):
                    self._handed.setdefault(name, []).append(len(self._calls))
                self._calls.append(node)
            elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
                for name in _over(node.iter):
                    self._over.setdefault(name, []).append(len(self._targets))
                self._targets.append({part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)})

    def spread(self, names: frozenset[str]) -> set[str]:
        """The variables, and those that go over one of them: ``for name, value in losses.items()``."""
        spread = set(names)
        todo = [loop for name in names for loop in self._over.get(name, ())]
        heapify(todo)
        while todo:
            loop = heappop(todo)
            for name in self._targets[loop] - spread:
                spread.add(name)
                for later in self._over.get(name, ()):
                    if later > loop:
                        heappush(todo, later)
        return spread

    def stored(self, names: set[str]) -> int:
        """The first line that keeps one of the variables; 0: none does."""
        return min((self._stored[name] for name in names if name in self._stored), default=(0, 0))[1]

    def stored_field(self, names: set[str], fields: set[str]) -> int:
        """The first line that keeps such a part of one of the variables; 0: none does."""
        return self.stored_part({part for part in self._fields if part[0] in names and part[1] in fields})

    def stored_part(self, parts: set[tuple[str, str]]) -> int:
        """The first line that keeps one of the parts; 0: none does."""
        return min((self._fields[part] for part in parts if part in self._fields), default=(0, 0))[1]

    def handovers(self, names: set[str]) -> Iterable[Given]:
        """The calls that are given one of them; calls that look the same once."""
        calls = sorted({call for name in names for call in self._handed.get(name, ())})
        return dict.fromkeys(_handover(self._calls[call], names) for call in calls)


def _read(path: str) -> ast.expr | None:
    """The expression that a text is, None for a plain name or what is none."""
    if path.isidentifier():
        return None
    try:
        return ast.parse(path, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _field(value: ast.expr) -> tuple[str, str] | None:
    """(variable, attribute or key) of ``outputs.loss`` and ``outputs["loss"]``."""
    match value:
        case ast.Attribute(value=ast.Name(id=name), attr=field):
            return name, field
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(field))):
            return name, field
    return None


def _handover(call: ast.Call, names: set[str]) -> Given:
    places = frozenset(i for i, value in enumerate(call.args) if isinstance(value, ast.Name) and value.id in names)
    keywords = frozenset(
        k.arg for k in call.keywords if isinstance(k.value, ast.Name) and k.value.id in names and k.arg
    )
    return Given(_called(call), places, keywords)


def _called(node: ast.expr) -> str:
    """The last name of what is called, or of what is handed over to be called."""
    function = node.func if isinstance(node, ast.Call) else node
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _variables(call: ast.Call) -> set[str]:
    arguments = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg)]
    return {value.id for value in arguments if isinstance(value, ast.Name)}


def _parameters(function: Function, handover: Given) -> frozenset[str]:
    """The parameters of a function that are given one of the variables."""
    positional = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    without_self = positional[1:] if positional[:1] in (["self"], ["cls"]) else positional
    receiving = {without_self[i] for i in handover.places if i < len(without_self)}
    receiving |= handover.keywords & {*without_self, *(argument.arg for argument in function.args.kwonlyargs)}
    if function.args.vararg is not None and any(i >= len(without_self) for i in handover.places):
        receiving.add(function.args.vararg.arg)
    if function.args.kwarg is not None and handover.keywords - receiving:
        receiving.add(function.args.kwarg.arg)
    return frozenset(receiving)


def _over(iterated: ast.expr) -> set[str]:
    """The variables whose entries a loop goes over: of ``d.items()``, ``zip(a, b)``, not ``range(n)``."""
    if isinstance(iterated, ast.Name):
        return {iterated.id}
    if isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Attribute) and iterated.func.attr in _VIEWS:
        return _over(iterated.func.value)
    if isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Name) and iterated.func.id in _WALKS:
        return {name for argument in iterated.args for name in _over(argument)}
    return set()


def _stored(node: ast.AST) -> list[ast.expr]:
    """The values that a statement or call puts into a container, an item or an attribute (whole, not ``x.item()``)."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _KEEPING:
        return _parts([*node.args, *(keyword.value for keyword in node.keywords)])
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Subscript, ast.Attribute)):
        return _parts([node.value])
    if isinstance(node, ast.AugAssign) and isinstance(node.value, (ast.List, ast.Tuple)):
        return _parts([node.value])
    return []


def _parts(values: list[ast.expr]) -> list[ast.expr]:
    """What displays, conditions and sums of containers consist of."""
    parts: list[ast.expr] = []
    todo = values[::-1]
    while todo:  # No recursion: a sum of a thousand terms is a tree a thousand deep.
        value = todo.pop()
        if isinstance(value, (ast.Tuple, ast.List, ast.Set)):
            inner: list[ast.expr] = value.elts
        elif isinstance(value, ast.Dict):
            inner = value.values
        elif isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.BitOr)):
            inner = [side for side in (value.left, value.right) if not isinstance(side, ast.Name)]
        elif isinstance(value, ast.IfExp):
            inner = [value.body, value.orelse]
        elif isinstance(value, ast.Starred):
            inner = [value.value]
        elif isinstance(value, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
            inner = [value.elt]
        elif isinstance(value, ast.DictComp):
            inner = [value.value]
        else:
            parts.append(value)
            continue
        todo += inner[::-1]
    return parts
