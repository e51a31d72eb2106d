"""Straight-through estimators: a hard value forward, and the gradient of what it was made from."""

from __future__ import annotations

import ast

from autograd_inspector.edits.expressions import ATOMS, called, operand_of, stands_alone
from autograd_inspector.edits.program import Program, end_of, start_of
from autograd_inspector.edits.scope import all_known
from autograd_inspector.model.edit import Edit
from autograd_inspector.model.location import Location
from autograd_inspector.model.remedy import StraightThrough
from autograd_inspector.model.rewrites import SampleThrough, SoftLookup
from autograd_inspector.source.fragments import is_path


def straight_through(program: Program, remedy: StraightThrough) -> list[Edit]:
    """``x + (hard - x).detach()``, with the cast that a comparison is followed by."""
    node = program.expression(remedy.at)
    if remedy.between:
        return _between(program, node)
    read = program.expression(remedy.soft) if remedy.soft is not None else node
    operand = _compared(read, remedy.soft or remedy.at) if read is not None else None
    if node is None or operand is None or isinstance(operand, ast.Starred):
        return []
    whole = program.statement_of(node)
    if isinstance(whole, ast.Expr) and whole.value is node:
        return _kept_in_variable(program, node, operand)
    if isinstance(node, ast.Compare):
        cast = with_cast(program, node)
        return [] if cast is node else _estimated(program, cast, operand, remedy)  # A boolean has no sum with it.
    return _estimated(program, with_cast(program, node), operand, remedy)


def _estimated(program: Program, node: ast.expr, operand: ast.expr, remedy: StraightThrough) -> list[Edit]:
    """``soft + (hard - soft).detach()`` for an expression, of the operand that the gradient goes to."""
    soft, hard = program.written(operand), program.written(node)
    within = start_of(node) <= start_of(operand) and end_of(operand) <= end_of(node)
    if not within and not is_path(operand):
        return []
    first = soft
    if remedy.call or not is_path(operand):
        # Computed twice it might draw, or count, twice.
        statement = program.statement_of(node)
        free = [name for name in _SOFT if statement is not None and not all_known(program, statement, name)]
        if not free:
            return []
        closed = soft if isinstance(operand, ATOMS) else f"({soft})"
        soft, first = free[0], f"({free[0]} := {closed + remedy.call if remedy.call else soft})"
        if within:
            before, behind = (
                program.within(start_of(node), start_of(operand)),
                program.within(end_of(operand), end_of(node)),
            )
            hard = before + soft + behind
    text = f"{first} + ({hard} - {soft}).detach()"
    return [program.edit(start_of(node), end_of(node), text if stands_alone(program, node) else f"({text})")]


def _kept_in_variable(program: Program, node: ast.expr, operand: ast.expr) -> list[Edit]:
    """``y = y + (y.clamp(0, 1) - y).detach()`` for the statement ``y.clamp_(0, 1)``."""
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr=method)) if owner is operand and method.endswith("_"):
            name = program.written(owner)
        case _:
            return []
    if not isinstance(owner, ast.Name):
        return []
    behind = program.within(end_of(node.func), end_of(node))
    text = f"{name} = {name} + ({name}.{method[:-1]}{behind} - {name}).detach()"
    return [program.edit(start_of(node), end_of(node), text)]


def _between(program: Program, node: ast.expr | None) -> list[Edit]:
    """``(soft := (x - t).sigmoid()) + ((x > t).float() - soft).detach()`` for ``(x > t).float()``."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if isinstance(
            op, (ast.Gt, ast.GtE, ast.Lt, ast.LtE)
        ):
            larger, smaller = (left, right) if isinstance(op, (ast.Gt, ast.GtE)) else (right, left)
        case _:
            return []
    cast, statement = with_cast(program, node), program.statement_of(node)
    free = [name for name in _SOFT if statement is not None and not all_known(program, statement, name)]
    if cast is node or not free:
        return []
    one, other = (
        program.written(part) if isinstance(part, ATOMS) else f"({program.written(part)})" for part in (larger, smaller)
    )
    text = f"({free[0]} := ({one} - {other}).sigmoid()) + ({program.written(cast)} - {free[0]}).detach()"
    return [program.edit(start_of(cast), end_of(cast), text if stands_alone(program, cast) else f"({text})")]


_SOFT = ("soft", "soft_value", "before_rounding")
_CASTS = {"float", "double", "half", "bfloat16", "to", "type_as"}


def _compared(node: ast.expr, at: Location) -> ast.expr | None:
    return node.left if isinstance(node, ast.Compare) else operand_of(node, at, first=True)


def sample_through(program: Program, remedy: SampleThrough) -> list[Edit]:
    """``d.probs + (d.sample() - d.probs).detach()``, and so of a ``one_hot(d.sample(), n).float()``."""
    hard, draw = program.expression(remedy.at), program.expression(remedy.draw)
    statement = program.statement_of(draw) if draw is not None else None
    match draw:
        case ast.Call(func=ast.Attribute(value=owner, attr="sample")) if hard is not None and statement is not None:
            pass
        case _:
            return []
    hard = with_cast(program, hard)
    text, name, edits = program.written(hard), program.written(owner), list[Edit]()
    if not is_path(owner):
        name = next((free for free in _FREE if not all_known(program, statement, free)), "")
        if not name or not program.begins_its_line(statement) or not isinstance(statement, _SIMPLE):
            return []
        begin = start_of(statement)
        edits.append(program.edit(begin, begin, f"{name} = {program.written(owner)}\n{program.indent(statement)}"))
        if any(node is draw for node in ast.walk(hard)):
            text = text.replace(program.written(owner), name, 1)
        else:
            edits.append(program.edit(start_of(owner), end_of(owner), name))
    text = f"{name}.probs + ({text} - {name}.probs).detach()"
    return [*edits, program.edit(start_of(hard), end_of(hard), text if stands_alone(program, hard) else f"({text})")]


_FREE = ("dist", "distribution", "drawn_from")
_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)


def looked_up_softly(program: Program, remedy: SoftLookup) -> list[Edit]:
    """``scores.softmax(-1) @ emb.weight`` for ``emb(scores.argmax(-1))``, the index in a variable perhaps."""
    index, lookup = program.expression(remedy.index), program.expression(remedy.at)
    scores = operand_of(index, remedy.index, first=True) if index is not None else None
    statement = program.statement_of(index) if index is not None else None
    if scores is None or statement is None or not isinstance(lookup, ast.Call) or program.statement_of(lookup) is None:
        return []
    match lookup:
        case ast.Call(func=func, args=[_], keywords=[]) if is_path(func):
            rows = f"{program.written(func)}.weight"
        case ast.Call(args=[_, weight], keywords=[]) if called(lookup) == "embedding" and is_path(weight):
            rows = program.written(weight)
        case _:
            return []
    name, edits = program.written(scores), list[Edit]()
    if not is_path(scores):
        name = next((free for free in _SCORES if not all_known(program, statement, free)), "")
        if not name or not program.begins_its_line(statement) or not isinstance(statement, _SIMPLE):
            return []
        begin = start_of(statement)
        text = f"{name} = {program.written(scores)}\n{program.indent(statement)}"
        edits = [program.edit(begin, begin, text), program.edit(start_of(scores), end_of(scores), name)]
    inside = start_of(lookup) <= start_of(scores) and end_of(scores) <= end_of(lookup)
    text = f"{name}{remedy.call} @ {rows}"
    lookup_edit = program.edit(start_of(lookup), end_of(lookup), text if stands_alone(program, lookup) else f"({text})")
    return [*edits[:1], lookup_edit] if inside else [*edits, lookup_edit]


_SCORES = ("scores", "index_scores", "soft_scores")


def with_cast(program: Program, node: ast.expr) -> ast.expr:
    """``one_hot(x).float()`` around ``one_hot(x)``, or the node itself."""
    outer = program.source.parents.get(node)
    cast = program.source.parents.get(outer) if isinstance(outer, ast.Attribute) else None
    return cast if isinstance(cast, ast.Call) and cast.func is outer and called(cast) in _CASTS else node
