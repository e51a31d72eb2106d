"""Blocks and decorators: a context that is not entered any more, around all of its block or a part of it."""

from __future__ import annotations

import ast

from autograd_inspector.edits.expressions import called
from autograd_inspector.edits.program import Program, end_of, first_place, start_of
from autograd_inspector.model.edit import Edit
from autograd_inspector.model.location import Location
from autograd_inspector.model.remedy import Unblock, Undecorate, Wrap
from autograd_inspector.model.rewrites import EnterInRounds, GoOn
from autograd_inspector.source.writing import written

_MODES = {"no_grad", "inference_mode", "set_grad_enabled"}


def undecorated(program: Program, remedy: Undecorate) -> list[Edit]:
    """The function without the decorator, whose line goes."""
    for function in program.source.functions:
        for decorator in function.decorator_list:
            last = end_of(decorator)[0]
            if (
                decorator.lineno <= remedy.at.lineno <= last
                and not program.lines[last - 1][end_of(decorator)[1] :].split(b"#")[0].strip()
            ):
                return [program.edit((decorator.lineno, 0), (last + 1, 0), "")]
    return []


def unblocked(program: Program, remedy: Unblock) -> list[Edit]:
    """The block without the context: of several that one ``with`` enters the others stay."""
    statement = program.statement(remedy.at)
    if not isinstance(statement, (ast.With, ast.AsyncWith)):
        return []
    entered = [i for i in statement.items if is_at(i.context_expr, remedy.at)]
    # Where it is entered is the whole statement, for some versions of Python.
    entered = entered or [i for i in statement.items if is_mode(i.context_expr)]
    item = entered[0] if len(entered) == 1 else None
    if item is None or item.optional_vars is not None:
        return []
    if len(statement.items) > 1:
        return [_item_left_out(program, statement, item)]
    if statement.body[0].lineno == statement.lineno or not program.begins_its_line(statement):
        begin, end = start_of(statement), start_of(statement.body[0])
        return [program.edit(begin, end, "")]
    keep = _prefix(program, statement, remedy.ran)
    body = statement.body[keep:]
    first_line = first_place(body[0])[0]
    last = end_of(statement)[0]
    block = program.reindented(first_line, last, program.indent(statement))
    if keep:
        return [program.edit((first_line, 0), (last + 1, 0), block)]
    # Comments between the head and the block stay.
    head_end = end_of(item.context_expr)[0]
    between = program.within((head_end + 1, 0), (first_line, 0))
    return [program.edit((statement.lineno, 0), (last + 1, 0), between + block)]


def goes_on(program: Program, remedy: GoOn) -> list[Edit]:
    """``continue`` for a ``return`` on that line, in a loop of the function that returns."""
    found = [n for n in program.source.nodes if isinstance(n, ast.Return) and n.lineno == remedy.at.lineno]
    if len(found) != 1:
        return []
    node = program.source.parents.get(found[0])
    while isinstance(node, (ast.If, ast.With, ast.Try)):
        node = program.source.parents.get(node)
    looped = isinstance(node, (ast.For, ast.While)) and found[0] not in node.orelse
    return [program.edit(start_of(found[0]), end_of(found[0]), "continue")] if looped else []


def entered_in_rounds(program: Program, remedy: EnterInRounds) -> list[Edit]:
    """``for ...:`` around ``with ...:`` for ``with ...:`` around ``for ...:``: the two heads change places."""
    block = program.statement(remedy.at)
    match block:
        case ast.With(body=[ast.For(orelse=[]) | ast.While(orelse=[]) as loop]):
            pass
        case _:
            return []
    lines = block.lineno, loop.lineno, first_place(loop.body[0])[0]
    if len(set(lines)) < len(lines) or not (program.begins_its_line(block) and program.begins_its_line(loop)):
        return []
    outer = program.reindented(lines[1], lines[2] - 1, program.indent(block))
    inner = program.reindented(lines[0], lines[1] - 1, program.indent(loop))
    return [program.edit((lines[0], 0), (lines[2], 0), outer + inner)]


def wrapped(program: Program, remedy: Wrap) -> list[Edit]:
    """The statement in a block of its own, with the updates by hand that follow it."""
    statement = program.statement(remedy.at)
    if statement is None or not (program.begins_its_line(statement) and program.ends_its_line(statement)):
        return []
    last = _last_update(program, statement)
    begin, end = (first_place(statement)[0], 0), (end_of(last)[0] + 1, 0)
    context = remedy.head.removeprefix("with ").rstrip(":")
    return [program.edit(begin, end, wrapped_lines(program, statement, context, last))]


def _last_update(program: Program, statement: ast.stmt) -> ast.stmt:
    """The last of the updates of leaves by their gradients that begin with a statement: the first one alone raised."""
    last = statement
    block = program.block(statement)
    for following in block[next(n for n, each in enumerate(block) if each is statement) :]:
        if not (_is_update(following) and program.begins_its_line(following) and program.ends_its_line(following)):
            break
        last = following
    return last


def _is_update(node: ast.stmt) -> bool:
    """Whether it is ``w -= rate * w.grad``."""
    if not isinstance(node, ast.AugAssign):
        return False
    own = written(node.target)
    return any(
        isinstance(part, ast.Attribute) and part.attr == "grad" and written(part.value) == own
        for part in ast.walk(node.value)
    )


def wrapped_lines(program: Program, statement: ast.stmt, context: str, end: ast.stmt | None = None) -> str:
    """The lines of a statement, or of those up to another one, in a block that enters a context."""
    first, last, indent = first_place(statement)[0], end_of(end or statement)[0], program.indent(statement)
    return f"{indent}with {context}:\n{program.reindented(first, last, f'{indent}    ')}"


def _prefix(program: Program, statement: ast.With | ast.AsyncWith, ran: tuple[Location, ...]) -> int:
    """So many statements at the block's beginning have nothing to do with what has to leave it."""
    if not ran:
        return 0
    lines = [at.lineno for at in ran if at.filename == program.filename]
    for number, inner in enumerate(statement.body):
        if any(inner.lineno <= line <= (inner.end_lineno or inner.lineno) for line in lines):
            return number
    return 0


def is_mode(node: ast.expr) -> bool:
    """Whether an expression makes a context that switches grad mode."""
    return isinstance(node, ast.Call) and called(node) in _MODES


def is_at(node: ast.expr, at: Location) -> bool:
    """Whether an expression stands at a place; one without columns may be any of its line."""
    return (node.lineno, node.col_offset) == (at.lineno, at.column) or (at.column < 0 and node.lineno == at.lineno)


def _item_left_out(program: Program, statement: ast.With | ast.AsyncWith, item: ast.withitem) -> Edit:
    place = statement.items.index(item)
    begin, end = start_of(item.context_expr), end_of(item.context_expr)
    if place:
        before = statement.items[place - 1]
        return program.edit(end_of(before.optional_vars or before.context_expr), end, "")
    return program.edit(begin, start_of(statement.items[1].context_expr), "")
