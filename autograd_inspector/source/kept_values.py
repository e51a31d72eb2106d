"""What becomes of a value where a file keeps it: the container that it goes into, and how long that grows."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

from autograd_inspector.source.index import Source
from autograd_inspector.source.mentions import Mentions
from autograd_inspector.source.resets import Resets
from autograd_inspector.source.writing import written

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp)
_DISPLAYS = (ast.List, ast.Tuple, ast.Set, ast.Starred)
_GATHERING = {"list", "tuple", "dict", "zip", "deque", "OrderedDict"}
_SAME_MEMORY = {"detach", "view", "view_as", "flatten", "ravel", "reshape"}
_GROWING = {"append", "appendleft", "extend", "insert"}


class Kept(NamedTuple):
    """``target`` has the value, whole or in a container that only grows in the loop ``growing`` (None: in none).

    ``uses`` are the statements that read it, ``renamed`` those that read another name which it was given before.
    """

    target: ast.expr
    growing: ast.stmt | None
    uses: list[ast.stmt]
    renamed: list[ast.stmt]


def gathered(source: Source, node: ast.AST) -> ast.AST:
    """The largest expression around it that still holds the very value: a list of them, a view of it."""
    parents = source.parents
    while True:
        parent = parents[node]
        within = (
            (isinstance(parent, ast.Attribute) and parent.attr == "data")
            or (isinstance(parent, ast.IfExp) and node is not parent.test)
            or isinstance(parent, _DISPLAYS)
            or (isinstance(parent, _COMPREHENSIONS) and node is parent.elt)
            or (isinstance(parent, (ast.DictComp)) and node is parent.value)
            or (isinstance(parent, ast.Dict) and node in parent.values)
            or (isinstance(parent, ast.Call) and _called(parent) in _GATHERING and node in parent.args)
        )
        if within:
            node = parent
        elif isinstance(parent, ast.Attribute) and parent.attr in _SAME_MEMORY and _is_call(parents[parent], parent):
            node = parents[parent]
        else:
            return node


def _is_call(node: ast.AST, function: ast.AST) -> bool:
    return isinstance(node, ast.Call) and node.func is function


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def kept(source: Source, value: ast.AST, calls: Sequence[ast.AST]) -> Kept | None:
    """What has the value of an expression once its statement has run; ``calls`` led there, innermost first."""
    statement = source.parents[value]
    match statement:
        case ast.Assign(targets=[ast.Subscript(value=ast.Name() | ast.Attribute() as container, slice=key)]):
            return _kept(source, container, _growth(source, statement, container, key, calls))
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target]) | ast.AnnAssign(target=target):
            return _kept(source, target)
        case ast.AugAssign(target=ast.Name() as container, op=ast.Add()) if isinstance(value, (ast.List, ast.ListComp)):
            return _kept(source, container, _growth(source, statement, container, None, calls))
        case ast.Call(func=ast.Attribute(value=ast.Name() as container, attr=how)) if how in _GROWING:
            return _kept(source, container, _growth(source, statement, container, None, calls))
    return None


def _kept(source: Source, target: ast.expr, growing: ast.stmt | None = None) -> Kept:
    """Kept as a variable; and under the other names that the variable is given (``previous = current`` at the end)."""
    scope = source.scope_at(target.lineno) if isinstance(target, ast.Name) else source.tree
    name, mentions = written(target), source.index(Mentions)
    later = {written(node.targets[0]): node.lineno for node in mentions.renamed(scope, name)}
    # A name that is given before it is used is one more for the same round: `direction = gradient`.
    renamed = [
        node
        for other, line in later.items()
        for node in mentions.reading(scope, other)
        if (node.end_lineno or line) < line
    ]
    return Kept(target, growing, mentions.reading(scope, name), renamed)


def _growth(
    source: Source, node: ast.AST, container: ast.expr, key: ast.expr | None, calls: Sequence[ast.AST]
) -> ast.stmt | None:
    """The outermost loop in which the container only grows: it is made, emptied and shortened outside of it.

    Of an attribute other functions may do that. A variable of the function around is followed to where that calls.
    """
    best: ast.stmt | None = None
    name = container.id if isinstance(container, ast.Name) else ""
    outwards = iter(calls)
    while name and not isinstance(node, (ast.ClassDef, ast.Module, ast.Lambda)):
        if isinstance(node, (ast.For, ast.While)):
            if name in source.index(Resets).within(node):
                break
            if key is None or (isinstance(node, ast.For) and _names(node.target) & _names(key)):
                best = node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            reset = name in source.index(Resets).within(node)
            call = None if reset or _binds(node, name) else next(outwards, None)
            if call is None:
                break
            node = call
        node = source.parents[node]
    return best


def _binds(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> bool:
    """Whether the variable is the function's own."""
    inner = list(ast.walk(function))
    if any(isinstance(each, (ast.Nonlocal, ast.Global)) and name in each.names for each in inner):
        return False
    return any(
        (isinstance(each, ast.Name) and each.id == name and not isinstance(each.ctx, ast.Load))
        or (isinstance(each, ast.arg) and each.arg == name)
        for each in inner
    )


def _names(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
