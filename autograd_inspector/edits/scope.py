"""Which names a new statement may use where it is put."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator

from autograd_inspector.edits.program import Program, end_of, start_of
from autograd_inspector.source.index import Function


def all_known(program: Program, statement: ast.stmt, text: str) -> bool:
    """Whether every name that the text reads is one of the program's at a statement: local, global or Python's own."""
    return unknown(program, statement, text) == set()


def unknown(program: Program, statement: ast.stmt, text: str) -> set[str] | None:
    """The names that the text reads and that are none of the program's at a statement; None where it is no Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    own = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return read - own - _known(program, statement.lineno) - set(vars(builtins))


def spelled_at(program: Program, statement: ast.stmt, text: str) -> str:
    """The text as it reads at a statement; "" where it names something that is not known there.

    A method knows ``trainer.net`` as ``self.net``, if its own class has given that attribute a value by then. A
    variable of the module may get its value later than the method runs.
    """
    own = _own_attributes(program, statement)
    try:
        tree = ast.parse(text if own else "")
    except (SyntaxError, ValueError):
        return ""
    near = _near(program, statement)
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if attribute in own and name not in near:
                text = re.sub(rf"(?<![\w.]){name}\.{attribute}\b", f"self.{attribute}", text)
    return text if all_known(program, statement, text) else ""


def _near(program: Program, statement: ast.stmt) -> set[str]:
    """The names of the functions around a statement, and what the file imports."""
    module = program.source.tree
    functions = (scope for scope in program.source.scopes_around(statement.lineno) if scope is not module)
    imports = [each for each in module.body if isinstance(each, (ast.Import, ast.ImportFrom))]
    imported = {(alias.asname or alias.name).partition(".")[0] for each in imports for alias in each.names}
    return {name for scope in functions for name in _bound(scope)} | imported


def _own_attributes(program: Program, statement: ast.stmt) -> set[str]:
    """The attributes that a method's class has given ``self`` before a statement: in the method, or in ``__init__``."""
    method, owner = program.source.scope_at(statement.lineno), program.source.parents.get(statement)
    while owner is not None and not isinstance(owner, ast.ClassDef):
        owner = program.source.parents.get(owner)
    if owner is None or not isinstance(method, ast.FunctionDef) or method not in owner.body:
        return set()
    begun = [each for each in owner.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
    return {
        node.attr
        for function in (method, *begun)
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
        and (function is not method or node.lineno < statement.lineno)
    }


def known_outside(program: Program, function: ast.FunctionDef) -> set[str]:
    """The names that a function finds around it: the module's and Python's own, not those of its class."""
    around = [s for s in program.source.scopes_around(function.lineno) if s is not function]
    return {name for s in around if not isinstance(s, ast.ClassDef) for name in _bound(s)} | set(vars(builtins))


def is_last_use(program: Program, statement: ast.stmt, name: str) -> bool:
    """Whether nothing in the function around a statement reads a variable of its own after it.

    Given another tensor there, whoever knows the old one by another name would not see the new one.
    """
    scope = program.source.scope_at(statement.lineno)
    if scope is program.source.tree or any(name in node.names for node in ast.walk(scope) if isinstance(node, _SHARED)):
        return False
    begin = end_of(statement)
    node: ast.AST | None = statement
    while node is not None and node is not scope:
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            begin = start_of(node)
        node = program.source.parents.get(node)
    return not any(
        node.id == name and start_of(node) >= begin
        for node in ast.walk(scope)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    )


_SHARED = (ast.Global, ast.Nonlocal)


def _known(program: Program, line: int) -> set[str]:
    known: set[str] = set()
    for scope in program.source.scopes_around(line):
        known.update(_bound(scope))
    return known


def _bound(scope: ast.AST) -> Iterator[str]:
    """The names that a function or the module binds itself, those of functions within it left out."""
    if isinstance(scope, Function):
        arguments = scope.args
        for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
            if each is not None:
                yield each.arg
    left: list[ast.AST] = list(getattr(scope, "body", []))
    while left:
        node = left.pop()
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
                continue
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from ((alias.asname or alias.name).split(".")[0] for alias in names)
            case ast.ExceptHandler(name=str() as name) | ast.MatchAs(name=str() as name):
                yield name
        if not isinstance(node, ast.Lambda):
            left += ast.iter_child_nodes(node)
