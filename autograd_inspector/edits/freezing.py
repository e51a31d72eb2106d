"""Statements that were meant to freeze -> one that does; what stays frozen -> what requires grad again in time."""

from __future__ import annotations

import ast

from autograd_inspector.edits.program import Program, end_of, start_of
from autograd_inspector.edits.scope import all_known
from autograd_inspector.edits.statements import beside
from autograd_inspector.model.edit import Edit
from autograd_inspector.model.remedy import Freeze
from autograd_inspector.model.rewrites import AssignCompared, Unfreeze


def frozen(program: Program, remedy: Freeze) -> list[Edit]:
    """``x.requires_grad_(False)`` for ``x.requires_grad = False`` of a module, a misspelt one, and ``x.detach()``."""
    statement = program.statement(remedy.at)
    match statement:
        case ast.Assign(targets=[ast.Attribute(value=owner)], value=ast.Constant(value=False)):
            pass
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr="detach"), args=[])):
            pass
        case _:
            return []
    text = f"{program.written(owner)}.requires_grad_(False)"
    return [program.edit(start_of(statement), end_of(statement), text)]


def unfrozen(program: Program, remedy: Unfreeze) -> list[Edit]:
    """``for p in net.parameters(): p.requires_grad_(True)`` before what trains them."""
    freezing, reader = program.statement(remedy.at), program.statement(remedy.to)
    match freezing:
        case ast.Assign(targets=[ast.Attribute(value=owner, attr="requires_grad")], value=ast.Constant(value=False)):
            pass
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=owner, attr="requires_grad_"), args=[ast.Constant(value=False)])
        ):
            pass
        case _:
            return []
    if reader is None:
        return []
    name, lines = program.written(owner), [f"{program.written(owner)}.requires_grad_(True)"]
    loop = program.source.parents.get(freezing)
    if isinstance(loop, ast.For) and isinstance(loop.target, ast.Name) and loop.target.id == name:
        if len(loop.body) > 1 or (loop.iter.end_lineno or 0) > loop.iter.lineno:
            return []
        lines = [f"for {name} in {program.written(loop.iter)}:", f"    {lines[0]}"]
        owner = loop.iter
    if not all_known(program, reader, program.written(owner)):
        return []
    return beside(program, reader, "\n".join(lines), "before")


def assigned(program: Program, remedy: AssignCompared) -> list[Edit]:
    """``p.requires_grad = True`` for the statement ``p.requires_grad == True``."""
    statement = program.statement(remedy.at)
    match statement:
        case ast.Expr(value=ast.Compare(left=ast.Attribute() as flag, ops=[ast.Eq()], comparators=[value])):
            return [program.edit(end_of(flag), start_of(value), " = ")]
    return []
