"""A new tensor that was meant for an old one's place -> the old one written; and what a collective leaves out."""

from __future__ import annotations

import ast
import textwrap

from autograd_inspector.edits.out_of_place import OPERATORS
from autograd_inspector.edits.program import Program, end_of, first_place, start_of
from autograd_inspector.edits.statements import beside
from autograd_inspector.model.edit import Edit
from autograd_inspector.model.remedy import AddUp, KeepOwnPart, WriteInto
from autograd_inspector.model.rewrites import KeepResult
from autograd_inspector.source.fragments import is_path
from autograd_inspector.source.writing import written


def written_into(program: Program, remedy: WriteInto) -> list[Edit]:
    """``p -= x`` for ``p = p - x``, ``p.copy_(x)`` for ``p = x``, ``p.clamp_(0)`` for ``p.clamp(0)``."""
    statement = program.statement(remedy.at)
    if statement is None or not (program.begins_its_line(statement) and program.ends_its_line(statement)):
        return []
    target, text = _in_place(program, statement)
    if target is None:
        return []
    indent = program.indent(statement)
    recorded = remedy.recorded and not (isinstance(target, ast.Attribute) and target.attr == "data")
    lines = [f"{indent}with torch.no_grad():", textwrap.indent(text, f"{indent}    ")] if recorded else [indent + text]
    begin, end = (first_place(statement)[0], 0), end_of(statement)
    behind = indent + remedy.behind.format(program.written(target)) + "\n"
    following = [program.edit((end[0] + 1, 0), (end[0] + 1, 0), behind)] if remedy.behind else []
    return [program.edit(begin, end, "\n".join(lines)), *following]


def _in_place(program: Program, statement: ast.stmt) -> tuple[ast.expr | None, str]:
    """(what is written, the statement that does it); a value of several lines is none."""
    if (statement.end_lineno or statement.lineno) > statement.lineno:
        return None, ""
    match statement:
        case ast.Assign(targets=[target], value=ast.BinOp(left=left, op=op, right=right)) if (
            is_path(target) and written(left) == written(target) and type(op) in OPERATORS
        ):
            return target, f"{program.written(target)} {OPERATORS[type(op)]}= {program.written(right)}"
        case ast.Assign(targets=[target], value=value) if is_path(target):
            return target, f"{program.written(target)}.copy_({program.written(value)})"
        case ast.Expr(value=ast.Call() as call):
            return _methods_in_place(program, statement, call)
    return None, ""


def _methods_in_place(program: Program, statement: ast.stmt, call: ast.Call) -> tuple[ast.expr | None, str]:
    """``t.mul_(0.9).add_(p)`` for ``t.mul(0.9).add(p)``."""
    methods, owner = _chain(call)
    if not methods or not is_path(owner) or any(method.attr.endswith("_") for method in methods):
        return None, ""
    text, begin = program.written(statement), start_of(statement)
    for method in methods:
        place = len(program.within(begin, end_of(method)))
        text = f"{text[:place]}_{text[place:]}"
    return owner, text


def _chain(node: ast.expr) -> tuple[list[ast.Attribute], ast.expr]:
    """(the methods that are called one on the result of the other, the last first; what the first is called on)."""
    methods: list[ast.Attribute] = []
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        methods.append(node.func)
        node = node.func.value
    return methods, node


def kept_result(program: Program, remedy: KeepResult) -> list[Edit]:
    """``x = x.relu()`` for ``x.relu()``, ``x = torch.relu(x)`` for ``torch.relu(x)``, ``x = f(x)`` for ``f(x)``."""
    statement = program.statement(remedy.at)
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return []
    _, owner = _chain(statement.value)
    if remedy.argument or written(owner) in remedy.at.namespaces:
        arguments = statement.value.args
        owner = arguments[0] if arguments else owner
    if not is_path(owner) or written(owner) in remedy.at.namespaces:
        return []
    begin = first_place(statement)
    return [program.edit(begin, begin, f"{program.written(owner)} = ")]


def added_up(program: Program, remedy: AddUp) -> list[Edit]:
    """``out.index_put_((index,), values, accumulate=True)`` for ``out[index] += values``."""
    statement = program.statement(remedy.at)
    match statement:
        case ast.AugAssign(target=ast.Subscript(value=out, slice=index), op=ast.Add(), value=values):
            pass
        case ast.Assign(
            targets=[ast.Subscript(value=out, slice=index) as target],
            value=ast.BinOp(left=left, op=ast.Add(), right=values),
        ) if program.written(left) == program.written(target):
            pass
        case _:
            return []
    if not is_path(out) or isinstance(index, (ast.Tuple, ast.Slice)):
        return []
    text = f"index_put_(({program.written(index)},), {program.written(values)}, accumulate=True)"
    return [program.edit(first_place(statement), end_of(statement), f"{program.written(out)}.{text}")]


def own_part_kept(program: Program, remedy: KeepOwnPart) -> list[Edit]:
    """``parts[dist.get_rank()] = x`` behind ``dist.all_gather(parts, x)``."""
    call, statement = program.expression(remedy.at), program.statement(remedy.at)
    match call:
        case ast.Call(func=ast.Attribute(value=home, attr="all_gather"), args=[parts, own, *_]) if is_path(parts):
            rank = f"{program.written(home)}.get_rank()"
        case _:
            return []
    if statement is None or not isinstance(statement, ast.Expr):
        return []
    return beside(program, statement, f"{program.written(parts)}[{rank}] = {program.written(own)}", "behind")
