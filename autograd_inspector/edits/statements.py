"""Whole statements: left out, put in, moved."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from itertools import pairwise

from autograd_inspector.edits.program import Place, Program, end_of, first_place
from autograd_inspector.edits.scope import all_known, spelled_at
from autograd_inspector.model.edit import Edit
from autograd_inspector.model.location import Location
from autograd_inspector.model.remedy import Again, Hoist, Insert, Move, Remove, RunOnce
from autograd_inspector.model.rewrites import InConstructor

_COMPOUND = (
    ast.If,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.With,
    ast.AsyncWith,
    ast.Try,
    ast.TryStar,
    ast.Match,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
)


LOOPS = (ast.For, ast.AsyncFor, ast.While)


def removed(program: Program, remedy: Remove) -> list[Edit]:
    """The statement goes with its lines; ``pass`` takes the place of one that its block cannot do without."""
    statement = program.statement(remedy.at)
    if statement is None or isinstance(statement, (*_COMPOUND, ast.Return)) or _read_elsewhere(program, statement):
        return []
    if remedy.calling and not _only_calls(statement, remedy.calling):
        return []
    return [left_out(program, statement)]


def _only_calls(statement: ast.stmt, function: str) -> bool:
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name))):
            return name == function
    return False


def _read_elsewhere(program: Program, statement: ast.stmt) -> bool:
    """Whether a name that a statement sets is read by another one."""
    own = {id(node) for node in ast.walk(statement)}
    return any(
        isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names and id(node) not in own
        for names in [_names(statement, ast.Store)]
        if names
        for node in program.source.nodes
    )


def left_out(program: Program, statement: ast.stmt) -> Edit:
    """The change that takes a statement out."""
    begin, end = first_place(statement), end_of(statement)
    alone = program.begins_its_line(statement) and program.ends_its_line(statement)
    if not alone or len(program.block(statement)) == 1:
        return program.edit(begin, end, "pass")
    return program.edit((begin[0], 0), _next_line(end), "")


def inserted(program: Program, remedy: Insert) -> list[Edit]:
    """A new statement beside another."""
    statement = program.statement(remedy.at)
    loops = [] if statement is None else [each for each in outwards(program, statement) if isinstance(each, LOOPS)]
    if loops and remedy.outside_loops:
        statement = loops[-1]
    if statement is None or (remedy.once and _runs_again(program, statement)):
        return []
    text = spelled_at(program, statement, remedy.text)
    return beside(program, statement, text, remedy.where) if text else []


def _runs_again(program: Program, statement: ast.stmt) -> bool:
    """Whether each round of a loop runs it: what stands under a condition may have its round."""
    around = [each for each in outwards(program, statement) if each is not statement]
    return isinstance(next((each for each in around if isinstance(each, (*LOOPS, ast.If))), None), LOOPS)


def beside(program: Program, statement: ast.stmt, text: str, where: str) -> list[Edit]:
    """The change that puts the text of a statement, of several lines perhaps, before or behind another one."""
    lines = textwrap.indent(text, program.indent(statement)) + "\n"
    return _put(program, statement, text, lines, where)


def _put(program: Program, statement: ast.stmt, text: str, lines: str, where: str) -> list[Edit]:
    """``lines``: the text with the statement's indentation; without it where it stands on the statement's own line."""
    if where == "before":
        begin = first_place(statement)
        if program.begins_its_line(statement):
            return [program.edit((begin[0], 0), (begin[0], 0), lines)]
        return [] if isinstance(statement, _COMPOUND) or "\n" in text else [program.edit(begin, begin, f"{text}; ")]
    end = end_of(statement)
    if program.begins_its_line(statement) and program.ends_its_line(statement):
        behind = _next_line(end)
        return [program.edit(behind, behind, lines)]
    if isinstance(statement, _COMPOUND) or "\n" in text:
        return []
    return [program.edit(end, end, f"; {text}")]


def moved(program: Program, remedy: Move) -> list[Edit]:
    """One statement before or behind another: each by what it is a part of in the innermost block around both."""
    pair = _pair(program, remedy.at, remedy.to)
    if pair is None or pair[0] is pair[1] or not (remedy.read or _may_pass(program, *pair)):
        return []
    return _moved(program, *pair, remedy.where)


def hoisted(program: Program, remedy: Hoist) -> list[Edit]:
    """The statement itself before the loop that holds it, in the block that another statement is in as well."""
    pair = _pair(program, remedy.at, remedy.to)
    one = program.statement(remedy.at)
    if (
        pair is None
        or one is None
        or not isinstance(pair[0], LOOPS)
        or not all_known(program, pair[0], program.written(one))
    ):
        return []
    return _moved(program, one, pair[0], "before")


def run_once(program: Program, remedy: RunOnce) -> list[Edit]:
    """The statement before the outermost loop that it depends on nothing of, with what is around it in that loop."""
    statement = program.statement(remedy.at)
    around = [] if statement is None else list(outwards(program, statement))
    for loop, inside in reversed([(b, a) for a, b in pairwise(around) if isinstance(b, LOOPS)]):
        if not isinstance(inside, (ast.If, ast.Try, ast.Match)) and _needs_nothing_of(loop, inside):
            return _moved(program, inside, loop, "before")
    return []


def in_constructor(program: Program, remedy: InConstructor) -> list[Edit]:
    """``self.add_hooks()`` at the end of ``__init__``, and not in the method that each round calls."""
    statement = program.statement(remedy.at)
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name), args=[], keywords=[])):
            pass
        case _:
            return []
    method = program.source.scope_at(statement.lineno)
    owner = program.source.parents.get(method)
    members = [m for m in owner.body if isinstance(m, ast.FunctionDef)] if isinstance(owner, ast.ClassDef) else []
    begun = next((m for m in members if m.name == "__init__"), None)
    if begun is None or begun is method or name not in {m.name for m in members}:
        return []
    put = beside(program, begun.body[-1], program.written(statement), "behind")
    return [left_out(program, statement), *put] if put else []


def _needs_nothing_of(loop: ast.stmt, inside: ast.stmt) -> bool:
    """Whether no name that a statement of a loop reads is set by the loop itself or by another statement of it."""
    own = {id(node) for node in ast.walk(inside)}
    others = {
        node.id
        for node in ast.walk(loop)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in own
    }
    return others.isdisjoint(_names(inside, ast.Load))


def _pair(program: Program, at: Location, to: Location) -> tuple[ast.stmt, ast.stmt] | None:
    one, other = program.statement(at), program.statement(to)
    return None if one is None or other is None else _in_one_block(program, one, other)


def _moved(program: Program, moving: ast.stmt, fixed: ast.stmt, where: str) -> list[Edit]:
    if not (program.begins_its_line(moving) and program.ends_its_line(moving)):
        return []
    lines = program.reindented(first_place(moving)[0], end_of(moving)[0], program.indent(fixed)).rstrip("\n") + "\n"
    put = _put(program, fixed, program.written(moving), lines, where)
    return [left_out(program, moving), *put] if put else []


def _may_pass(program: Program, moving: ast.stmt, fixed: ast.stmt) -> bool:
    """Whether a statement can change places with those up to another one: none of them sets what the other reads."""
    block = program.block(fixed)
    one, other = block.index(moving), block.index(fixed)
    between = block[min(one, other) : max(one, other) + 1]
    mine_set, mine_read = _names(moving, ast.Store), _names(moving, ast.Load)
    return all(
        each is moving
        or (mine_set.isdisjoint(_names(each, ast.Load)) and mine_read.isdisjoint(_names(each, ast.Store)))
        for each in between
    )


def _names(statement: ast.stmt, context: type[ast.expr_context]) -> set[str]:
    return {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, context)}


def repeated(program: Program, remedy: Again) -> list[Edit]:
    """A statement once more, beside another one."""
    one, other = program.statement(remedy.at), program.statement(remedy.to)
    if one is None or other is None or one is other or isinstance(one, _COMPOUND):
        return []
    if not all_known(program, other, program.written(one)):
        return []
    if remedy.once and _runs_again(program, other):
        return []
    lines = program.reindented(one.lineno, end_of(one)[0], program.indent(other)).rstrip("\n") + "\n"
    return _put(program, other, program.written(one), lines, remedy.where)


def _in_one_block(program: Program, one: ast.stmt, other: ast.stmt) -> tuple[ast.stmt, ast.stmt] | None:
    """The innermost block around both: (the statement in it that holds the one, that which holds the other)."""
    around = {id(statement) for statement in outwards(program, one)}
    for holder in outwards(program, other):
        for member in program.block(holder):
            if id(member) in around:
                return member, holder
    return None


def outwards(program: Program, statement: ast.stmt) -> Iterator[ast.stmt]:
    """A statement and all that it is a part of, up to the function that it is in."""
    node: ast.AST | None = statement
    while node is not None and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)):
        if isinstance(node, ast.stmt):
            yield node
        node = program.source.parents.get(node)


def _next_line(end: Place) -> Place:
    """The beginning of the line behind a place."""
    return end[0] + 1, 0
