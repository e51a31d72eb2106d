"""What one round of a loop hands to the next: it goes without its history."""

from __future__ import annotations

import ast

from autograd_inspector.edits.expressions import filled
from autograd_inspector.edits.program import Program
from autograd_inspector.edits.scope import spelled_at
from autograd_inspector.edits.statements import LOOPS, beside, outwards
from autograd_inspector.model.edit import Edit
from autograd_inspector.model.rewrites import CutCarried


def cut_carried(program: Program, remedy: CutCarried) -> list[Edit]:
    """Statements of the loop that bind the variable behind the place cut it off there: what they bind goes on."""
    statement = program.statement(remedy.at)
    if statement is None:
        return []
    loop = next((each for each in outwards(program, statement) if isinstance(each, LOOPS)), None)
    later = [
        node.value
        for node in (ast.walk(loop) if loop is not None else ())
        if isinstance(node, ast.Assign)
        and node.lineno > (statement.end_lineno or statement.lineno)
        and [ast.unparse(target) for target in node.targets] == [remedy.name]
    ]
    if later:
        return [filled(program, value, remedy.value) for value in later]
    text = spelled_at(program, statement, f"{remedy.name} = {remedy.value.replace('{}', remedy.name)}")
    return beside(program, statement, text, "behind") if text else []
