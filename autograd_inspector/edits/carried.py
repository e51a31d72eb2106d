"""What one round of a loop hands to the next: it goes without its history, or does not go at all."""

from __future__ import annotations

import ast

from autograd_inspector.edits.expressions import filled
from autograd_inspector.edits.program import Program, end_of, first_place, start_of
from autograd_inspector.edits.scope import spelled_at
from autograd_inspector.edits.statements import LOOPS, beside, outwards
from autograd_inspector.model.edit import Edit
from autograd_inspector.model.rewrites import CutAtEntry, CutCarried, KeepLast
from autograd_inspector.source.fragments import is_path
from autograd_inspector.source.index import Function


def cut_carried(program: Program, remedy: CutCarried) -> list[Edit]:
    """Statements of the loop that bind the variable behind the place cut it off there: what they bind goes on."""
    statement = program.statement(remedy.at)
    if statement is None:
        return []
    loop = next((each for each in outwards(program, statement) if isinstance(each, LOOPS)), None)
    behind = [
        node
        for node in (ast.walk(loop) if loop is not None else ())
        if isinstance(node, (ast.stmt, ast.expr)) and node.lineno > (statement.end_lineno or statement.lineno)
    ]
    later = [
        node.value
        for node in behind
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [remedy.name]
    ]
    if later:
        return [filled(program, value, remedy.value) for value in later]
    if remedy.read_later and not any(_reads(node, remedy.name) for node in behind):
        return []
    text = spelled_at(program, statement, f"{remedy.name} = {remedy.value.replace('{}', remedy.name)}")
    return beside(program, statement, text, "behind") if text else []


def _reads(node: ast.AST, name: str) -> bool:
    """Whether it is the variable or attribute of that name, read."""
    is_load = isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load)
    return is_load and isinstance(node, ast.expr) and is_path(node) and ast.unparse(node) == name


def cut_at_entry(program: Program, remedy: CutAtEntry) -> list[Edit]:
    """``self.h = self.h.detach()`` before the first statement of the function that reads it."""
    function = program.source.scope_at(remedy.at.lineno)
    if not isinstance(function, Function):
        return []
    first = next((each for each in function.body if any(_reads(node, remedy.name) for node in ast.walk(each))), None)
    if first is None or isinstance(first, ast.Return) or any(_is_none(node, remedy.name) for node in ast.walk(first)):
        return []
    text = f"{remedy.name} = {remedy.value.replace('{}', remedy.name)}"
    if any(isinstance(node, ast.Assign) and _gives_none(node, remedy.name) for node in program.source.nodes):
        text = f"if {remedy.name} is not None:\n    {text}"
    return beside(program, first, text, "before")


def _is_none(node: ast.AST, name: str) -> bool:
    """Whether it asks if the attribute is None."""
    return (
        isinstance(node, ast.Compare)
        and ast.unparse(node.left) == name
        and isinstance(node.ops[0], (ast.Is, ast.IsNot))
    )


def _gives_none(node: ast.Assign, name: str) -> bool:
    return isinstance(node.value, ast.Constant) and name in {ast.unparse(target) for target in node.targets}


def last_kept(program: Program, remedy: KeepLast) -> list[Edit]:
    """``self.losses = [loss]`` for ``self.losses.append(loss)``."""
    statement = program.statement(remedy.at)
    match statement:
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=ast.Attribute() as kept, attr="append"), args=[value], keywords=[])
        ) if is_path(kept) and not isinstance(value, ast.Starred):
            pass
        case _:
            return []
    return [
        program.edit(first_place(statement), start_of(value), f"{program.written(kept)} = ["),
        program.edit(end_of(value), end_of(statement), "]"),
    ]
