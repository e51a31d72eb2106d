"""Functions that are called later: a closure that has to call backward(), a hook that has to keep a loop's value."""

from __future__ import annotations

import ast

from autograd_inspector.edits.program import Program, end_of, first_place, start_of
from autograd_inspector.edits.scope import spelled_at
from autograd_inspector.edits.statements import beside, outwards
from autograd_inspector.model.edit import Edit
from autograd_inspector.model.remedy import BackwardFrom, BindNow, ChainRule, ReturnAlso
from autograd_inspector.model.rewrites import CallBackward, ReturnAtEnd, ReturnIt, SwapReturned
from autograd_inspector.source.fragments import is_path
from autograd_inspector.source.index import Function


def backward_from(program: Program, remedy: BackwardFrom) -> list[Edit]:
    """``loss.backward()`` behind ``loss = ...``; what is returned without a name gets one first."""
    statement = program.statement(remedy.at)
    match statement:
        case ast.Assign(targets=[target]) | ast.AnnAssign(target=target) | ast.AugAssign(target=target) if is_path(
            target
        ):
            return beside(program, statement, f"{program.written(target)}.backward()", "behind")
        case ast.Return(value=ast.expr() as value) if program.begins_its_line(statement):
            indent = program.indent(statement)
            return [
                program.edit(start_of(statement), start_of(value), "loss = "),
                program.edit(end_of(value), end_of(value), f"\n{indent}loss.backward()\n{indent}return loss"),
            ]
    return []


def backward_before(program: Program, remedy: CallBackward) -> list[Edit]:
    """``loss.backward()``, or ``out.loss.backward()`` where the function reads the loss off what it calls ``out``."""
    statement = program.statement(remedy.at)
    if statement is None:
        return []
    scope, name = program.source.scope_at(statement.lineno), remedy.name
    for node in ast.walk(scope):
        match node:
            case ast.Attribute(value=ast.Name(id=owner), attr="loss") if owner == remedy.name:
                parent = program.source.parents.get(node)
                name = f"{remedy.name}.loss"
                if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
                    name = parent.targets[0].id
                    break
    text = spelled_at(program, statement, f"{name}.backward()")
    return beside(program, statement, text, "before") if text else []


def chained(program: Program, remedy: ChainRule) -> list[Edit]:
    """``return grad_output * x`` for ``return x``; None stays None."""
    around = [scope for scope in program.source.scopes_around(remedy.at.lineno) if isinstance(scope, ast.FunctionDef)]
    function = next((scope for scope in around if scope.name == "backward"), None)
    if function is None or len(function.args.args) != _ONE_GRADIENT or function.args.vararg is not None:
        return []
    given = function.args.args[-1].arg
    returned = [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value is not None]
    values = [part for value in returned for part in (value.elts if isinstance(value, ast.Tuple) else [value])]
    return [
        program.edit(start_of(value), end_of(value), f"{given} * {_bracketed(program, value)}")
        for value in values
        if not isinstance(value, (ast.Constant, ast.Starred))
    ]


def returned_also(program: Program, remedy: ReturnAlso) -> list[Edit]:
    """``return grad_output, None`` for ``return grad_output``."""
    around = program.source.scopes_around(remedy.at.lineno)
    function = next(
        (scope for scope in around if isinstance(scope, ast.FunctionDef) and scope.name == "backward"), None
    )
    found = [] if function is None else [node for node in ast.walk(function) if isinstance(node, ast.Return)]
    edits = []
    for value in (node.value for node in found):
        if value is None or isinstance(value, ast.Starred):
            return []
        text = program.within((value.lineno, value.col_offset), end_of(value))
        bare = not isinstance(value, ast.Tuple) or not text.startswith("(")
        line, column = end_of(value)
        place = (line, column) if bare else (line, column - 1)
        comma = "" if isinstance(value, ast.Tuple) and text.rstrip(")").rstrip().endswith(",") else ","
        edits.append(program.edit(place, place, f"{comma} {', '.join(['None'] * remedy.missing)}"))
    return edits


def returned_swapped(program: Program, remedy: SwapReturned) -> list[Edit]:
    """``return grad_x, grad_bias`` for ``return grad_bias, grad_x``."""
    around = program.source.scopes_around(remedy.at.lineno)
    function = next((s for s in around if isinstance(s, ast.FunctionDef) and s.name == "backward"), None)
    found = [] if function is None else [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
    if len(found) != 1 or not isinstance(found[0], ast.Tuple):
        return []
    parts = found[0].elts
    if max(remedy.one, remedy.other) >= len(parts) or any(isinstance(part, ast.Starred) for part in parts):
        return []
    one, other = parts[remedy.one], parts[remedy.other]
    return [
        program.edit(start_of(one), end_of(one), program.written(other)),
        program.edit(start_of(other), end_of(other), program.written(one)),
    ]


_ONE_GRADIENT = 2
"""Arguments of the backward of a Function with one result: ctx and its gradient."""


def _bracketed(program: Program, value: ast.expr) -> str:
    text = program.written(value)
    return text if isinstance(value, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) else f"({text})"


def bound_now(program: Program, remedy: BindNow) -> list[Edit]:
    """``lambda grad, s=s: grad * s``: a default is computed when the function is made."""
    statement = program.statement(remedy.at)
    functions = [] if statement is None else [node for node in ast.walk(statement) if isinstance(node, ast.Lambda)]
    names = remedy.names or (_loop_variables(program, statement) if statement is not None else ())
    functions = [node for node in functions if set(remedy.names) <= _read(node) and not _read(node).isdisjoint(names)]
    if len(functions) == 1:
        own = {argument.arg for argument in functions[0].args.args}
        return _with_defaults(
            program, functions[0], tuple(n for n in names if n in _read(functions[0]) and n not in own)
        )
    return []


def _loop_variables(program: Program, statement: ast.stmt) -> tuple[str, ...]:
    """What the loops around a statement give their values."""
    loops = [node for node in outwards(program, statement) if isinstance(node, (ast.For, ast.AsyncFor))]
    return tuple(node.id for loop in loops for node in ast.walk(loop.target) if isinstance(node, ast.Name))


def _with_defaults(program: Program, function: ast.Lambda, names: tuple[str, ...]) -> list[Edit]:
    arguments = function.args
    if not arguments.args or arguments.vararg or arguments.kwonlyargs or arguments.kwarg:
        return []
    last = arguments.defaults[-1] if arguments.defaults else None
    end = end_of(last) if last is not None else _end_of_argument(arguments.args[-1])
    return [program.edit(end, end, "".join(f", {name}={name}" for name in names))]


def _end_of_argument(argument: ast.arg) -> tuple[int, int]:
    return argument.end_lineno or argument.lineno, argument.end_col_offset or 0


def _read(function: ast.Lambda | Function) -> set[str]:
    return {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def returned_at_end(program: Program, remedy: ReturnAtEnd) -> list[Edit]:
    """``return loss`` behind the last statement of a function without a return."""
    function = program.source.scope_at(remedy.at.lineno)
    if not isinstance(function, ast.FunctionDef):
        return []
    own = [node for node in ast.walk(function) if program.source.scope_at(getattr(node, "lineno", 0)) is function]
    returns = any(isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom)) for node in own)
    set_here = any(isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n.id == remedy.name for n in own)
    if returns or not set_here:
        return []
    return beside(program, function.body[-1], f"return {remedy.name}", "behind")


def returned(program: Program, remedy: ReturnIt) -> list[Edit]:
    """``return grad.clamp(0, 1)`` for ``grad = grad.clamp(0, 1)`` at the end of a function."""
    statement = program.statement(remedy.at)
    match statement:
        case ast.Assign(value=value) | ast.Expr(value=value):
            pass
        case _:
            return []
    function = program.source.parents.get(statement)
    if not isinstance(function, ast.FunctionDef) or function.body[-1] is not statement:
        return []
    return [program.edit(first_place(statement), end_of(statement), f"return {program.written(value)}")]
