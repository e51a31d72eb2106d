"""Loops that are parted: what each round does at its end comes in a loop of its own behind them."""

from __future__ import annotations

import ast

from autograd_inspector.edits.expressions import called
from autograd_inspector.edits.program import Program, end_of, first_place
from autograd_inspector.edits.statements import left_out, outwards
from autograd_inspector.model.edit import Edit
from autograd_inspector.model.rewrites import StepsLast

_REPEATABLE = {"zip", "enumerate", "range", "reversed", "list", "tuple", "len", "items", "values", "keys"}
"""What may be gone through twice, where what it is given may be."""


def steps_last(program: Program, remedy: StepsLast) -> list[Edit]:
    """``for opt in opts: opt.step()`` behind the loop, and ``for opt in opts: opt.zero_grad()`` before it.

    What a round clears would be the gradients of the rounds before, which have not been stepped with by then.
    """
    step, backward = program.statement(remedy.at), program.statement(remedy.backward)
    if step is None or backward is None:
        return []
    loop = next((each for each in outwards(program, step) if isinstance(each, ast.For)), None)
    if loop is None or step not in loop.body or loop not in outwards(program, backward) or loop.orelse:
        return []
    stands_alone = program.begins_its_line(loop) and loop.body[0].lineno > loop.lineno
    if not stands_alone or not _is_repeatable(loop.iter) or not _is_call(step):
        return []
    cleared = [each for each in loop.body if _is_call(each, "zero_grad") and each.lineno < backward.lineno]
    behind = (end_of(loop)[0] + 1, 0)
    edits = [left_out(program, each) for each in (*cleared, step)]
    if cleared:
        before = (first_place(loop)[0], 0)
        edits.append(program.edit(before, before, _looped(program, loop, cleared)))
    edits.append(program.edit(behind, behind, _looped(program, loop, [step])))
    return edits


def _looped(program: Program, loop: ast.For, statements: list[ast.stmt]) -> str:
    """The head of a loop with some of its statements."""
    head = f"{program.indent(loop)}for {program.written(loop.target)} in {program.written(loop.iter)}:\n"
    lines = [f"{program.indent(each)}{program.written(each)}\n" for each in statements]
    return "".join([head, *lines])


def _is_call(statement: ast.stmt, name: str = "") -> bool:
    """Whether a statement calls a method and does nothing else: one of that name, or any."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=attr))):
            return name in {"", attr}
    return False


def _is_repeatable(iterated: ast.expr) -> bool:
    """Whether an expression only names what is gone through: a call might draw other batches the next time."""
    return all(
        called(node) in _REPEATABLE if isinstance(node, ast.Call) else isinstance(node, _NAMES)
        for node in ast.walk(iterated)
        if isinstance(node, ast.expr)
    )


_NAMES = (ast.Name, ast.Attribute, ast.Constant, ast.Tuple, ast.List, ast.Subscript, ast.Slice, ast.Starred)
