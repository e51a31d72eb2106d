"""Values that are kept, computed only where there is none yet: computed every time."""

from __future__ import annotations

import ast

from autograd_inspector.edits.program import Program, end_of, first_place
from autograd_inspector.edits.statements import left_out
from autograd_inspector.model.edit import Edit
from autograd_inspector.model.rewrites import Unguard
from autograd_inspector.source.writing import written


def unguarded(program: Program, remedy: Unguard) -> list[Edit]:
    """The body of ``if self.kept is None:``, or what stands behind ``if self.kept is not None: return self.kept``."""
    statement = program.statement(remedy.at)
    while statement is not None:
        kept = _kept_by(statement)
        around = program.source.parents.get(statement)
        if kept and isinstance(around, ast.If) and statement in around.body and _asks(around.test) in kept:
            return _body_alone(program, around)
        for before in program.block(statement)[: program.block(statement).index(statement)] if kept else ():
            if isinstance(before, ast.If) and not before.orelse and _hands_out(before) in kept:
                return [left_out(program, before)]
        statement = around if isinstance(around, (ast.With, ast.If)) else None
    return []


def _kept_by(statement: ast.stmt) -> set[str]:
    """What a statement gives a value: attributes and items; of a block what its own statements do."""
    return {
        written(target)
        for node in ast.walk(statement)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, (ast.Attribute, ast.Subscript))
    }


def _asks(test: ast.expr) -> str:
    """What a test finds missing: ``x is None``, ``key not in kept``, ``not hasattr(self, "kept")``."""
    match test:
        case ast.Compare(left=left, ops=[ast.Is()], comparators=[ast.Constant(value=None)]):
            return written(left)
        case ast.Compare(left=key, ops=[ast.NotIn()], comparators=[home]):
            return f"{written(home)}[{written(key)}]"
        case ast.UnaryOp(
            op=ast.Not(), operand=ast.Call(func=ast.Name(id="hasattr"), args=[home, ast.Constant(value=str() as name)])
        ):
            return f"{written(home)}.{name}"
    return ""


def _hands_out(branch: ast.If) -> str:
    """What ``if self.kept is not None: return self.kept`` returns."""
    match branch:
        case ast.If(
            test=ast.Compare(left=left, ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]),
            body=[ast.Return(value=ast.expr() as value)],
        ) if written(left) == written(value):
            return written(value)
        case ast.If(
            test=ast.Compare(left=key, ops=[ast.In()], comparators=[home]),
            body=[ast.Return(value=ast.Subscript() as value)],
        ) if written(value) == f"{written(home)}[{written(key)}]":
            return written(value)
    return ""


def _body_alone(program: Program, branch: ast.If) -> list[Edit]:
    """The statements of a branch in its place; none of a branch that has an alternative, or stands on one line."""
    if branch.orelse or branch.body[0].lineno == branch.lineno or not program.begins_its_line(branch):
        return []
    first, last = first_place(branch.body[0])[0], end_of(branch)[0]
    head_end = end_of(branch.test)[0]
    between = program.within((head_end + 1, 0), (first, 0))
    block = program.reindented(first, last, program.indent(branch))
    return [program.edit((branch.lineno, 0), (last + 1, 0), between + block)]
