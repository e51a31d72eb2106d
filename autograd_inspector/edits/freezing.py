"""Statements that were meant to freeze -> one that does."""

from __future__ import annotations

import ast

from autograd_inspector.edits.program import Program, end_of, start_of
from autograd_inspector.model.edit import Edit
from autograd_inspector.model.remedy import Freeze


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
