"""Calls that are given something else, or are left out: losses, moves to a device, lists of modules."""

from __future__ import annotations

import ast

from autograd_inspector.edits.expressions import called
from autograd_inspector.edits.program import Program, end_of, start_of
from autograd_inspector.edits.scope import all_known
from autograd_inspector.model.edit import Edit
from autograd_inspector.model.remedy import EachItsOwn, LeaveThere, OtherModule, SwapArguments, Unwrap
from autograd_inspector.source.fragments import is_path
from autograd_inspector.source.writing import written

_MOVES = {"to", "cpu", "cuda"}
_PAIR = 2


def unwrapped(program: Program, remedy: Unwrap) -> list[Edit]:
    """``x`` of ``torch.softmax(x, 1)`` and of ``x.softmax(1)``."""
    call = program.expression(remedy.at)
    match call:
        case ast.Call(func=ast.Attribute(value=owner)) if called(call) == remedy.function:
            outside = remedy.module or written(owner) in remedy.at.namespaces
            inner = call.args[0] if outside and call.args else owner
            if remedy.module and inner is owner:
                return []
        case ast.Call(func=ast.Name(), args=[first, *_]) if called(call) == remedy.function:
            inner = first
        case _:
            return []
    if written(inner) in remedy.at.namespaces or isinstance(inner, ast.Starred):
        return []
    text = program.written(inner)
    closed = isinstance(inner, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    return [program.edit(start_of(call), end_of(call), text if closed else f"({text})")]


def swapped(program: Program, remedy: SwapArguments) -> list[Edit]:
    """``f(b, a)`` for ``f(a, b)``."""
    call = program.expression(remedy.at)
    given = call.args[:_PAIR] if isinstance(call, ast.Call) else []
    if len(given) < _PAIR or any(isinstance(part, ast.Starred) for part in given):
        return []
    first, second = given
    return [
        program.edit(start_of(first), end_of(first), program.written(second)),
        program.edit(start_of(second), end_of(second), program.written(first)),
    ]


def left_there(program: Program, remedy: LeaveThere) -> list[Edit]:
    """``v`` of ``v.to("meta")``, wherever the statement says so."""
    statement = program.statement(remedy.at)
    return [
        program.edit(end_of(node.func.value), end_of(node), "")
        for node in (() if statement is None else ast.walk(statement))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _moves_to(node, remedy.device)
    ]


def _moves_to(call: ast.Call, device: str) -> bool:
    kind = device.partition(":")[0]
    match [*call.args, *(keyword.value for keyword in call.keywords)]:
        case [ast.Constant(value=str() as given)] if called(call) == "to":
            return given in {device, kind}
        case []:
            return called(call) in _MOVES and called(call) == kind
    return False


def each_its_own(program: Program, remedy: EachItsOwn) -> list[Edit]:
    """``[nn.Linear(3, 3) for _ in range(n)]`` for ``[nn.Linear(3, 3)] * n``; a module that has a name is copied."""
    call = program.expression(remedy.at)
    for node in () if call is None else ast.walk(call):
        found = _repeated(node) if isinstance(node, ast.expr) else None
        if isinstance(node, ast.expr) and found is not None:
            return _filled(program, node, *found)
    return []


def _repeated(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """(what a list repeats, how often)."""
    match node:
        case ast.BinOp(left=ast.List(elts=[one]), op=ast.Mult(), right=count) if isinstance(one, ast.Call):
            return one, count
        case ast.BinOp(left=ast.List(elts=[one]), op=ast.Mult(), right=count) if is_path(one):
            return one, count
        case ast.ListComp(elt=one, generators=[ast.comprehension(iter=ast.Call(args=[count]) as over)]) if is_path(one):
            return (one, count) if called(over) == "range" else None
    return None


def _filled(program: Program, node: ast.expr, one: ast.expr, count: ast.expr) -> list[Edit]:
    statement = program.statement_of(node)
    made = program.written(one)
    before: list[Edit] = []
    if is_path(one):
        made = f"copy.deepcopy({made})"
        if statement is not None and not all_known(program, statement, "copy"):
            before = imported(program, "copy")
    return [
        *before,
        program.edit(start_of(node), end_of(node), f"[{made} for _ in range({program.written(count)})]"),
    ]


def imported(program: Program, module: str) -> list[Edit]:
    """The import of a module before the first one of the program, behind those from the future."""
    for statement in program.source.tree.body:
        future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if isinstance(statement, (ast.Import, ast.ImportFrom)) and not future:
            return [program.edit((statement.lineno, 0), (statement.lineno, 0), f"import {module}\n")]
    return []


def other_module(program: Program, remedy: OtherModule) -> list[Edit]:
    """``nn.LeakyReLU()`` for ``nn.ReLU()``; another class has other positional arguments."""
    made = [node for node in program.source.nodes if isinstance(node, ast.Call) and called(node) == remedy.module]
    if any(call.args or not isinstance(call.func, ast.Attribute) for call in made):
        return []
    ends = [end_of(call.func) for call in made]
    return [program.edit((line, column - len(remedy.module)), (line, column), remedy.new) for line, column in ends]
