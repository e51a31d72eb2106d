"""The derivative of what a custom Function's forward returns, where it is one elementary expression of its inputs."""

from __future__ import annotations

import ast

from autograd_inspector.edits.expressions import called
from autograd_inspector.edits.program import Program, end_of, start_of
from autograd_inspector.model.edit import Edit
from autograd_inspector.model.rewrites import GradOfWhole, ReturnGradient

_SAME = {"clone", "view_as", "contiguous", "detach"}
"""Methods whose result has the values of what they are called on."""


def gradient_returned(program: Program, remedy: ReturnGradient) -> list[Edit]:
    """``return grad * w, grad * x`` for ``return grad * w, None``, of a forward that returns ``x * w``.

    Each None or zero among what backward returns is written out, if it is that of one of the inputs in question.
    """
    around = program.source.scopes_around(remedy.at.lineno)
    backward = next((s for s in around if isinstance(s, ast.FunctionDef) and s.name == "backward"), None)
    owner = program.source.parents.get(backward) if backward is not None else None
    members = owner.body if isinstance(owner, ast.ClassDef) else []
    forward = next((m for m in members if isinstance(m, ast.FunctionDef) and m.name == "forward"), None)
    if backward is None or forward is None or len(backward.args.args) != _CTX_AND_GRADIENT:
        return []
    inputs = [argument.arg for argument in forward.args.args][1:]
    value, returned = _only_return(forward), _only_return(backward)
    parts = returned.elts if isinstance(returned, ast.Tuple) else [returned] if returned is not None else []
    asked = [edit for number in range(len(inputs)) for edit in _asked_for(program, backward, parts, number)]
    if asked or value is None or _set_inside(forward) & set(inputs):
        return asked
    known = _set_inside(backward)
    edits = []
    for number, part in enumerate(parts[: len(inputs)]):
        if number in remedy.inputs and _is_nothing(part):
            text = _derivative(program, value, inputs[number], backward.args.args[-1].arg, known)
            if text is None:
                return []
            edits.append(program.edit(start_of(part), end_of(part), text))
    return edits


_CTX_AND_GRADIENT = 2


def _asked_for(program: Program, backward: ast.FunctionDef, parts: list[ast.expr], number: int) -> list[Edit]:
    """``ctx.needs_input_grad[2]`` for another number, where the gradient of input 2 is computed if that is asked."""
    name = parts[number] if number < len(parts) else None
    found = []
    for node in ast.walk(backward):
        match node:
            case ast.If(
                test=ast.Subscript(
                    value=ast.Attribute(attr="needs_input_grad"), slice=ast.Constant(value=int() as given) as index
                ),
                body=[ast.Assign(targets=[ast.Name(id=computed)])],
            ) if isinstance(name, ast.Name) and computed == name.id and given != number:
                found.append(program.edit(start_of(index), end_of(index), str(number)))
    return found


def grad_of_whole(program: Program, remedy: GradOfWhole) -> list[Edit]:
    """``grad(u, xt)[0][:, 1:]`` for ``grad(u, t)[0]`` behind ``t = xt[:, 1:]``; of its other columns as well."""
    statement, call = program.statement(remedy.made), program.expression(remedy.at)
    parts = _parts_taken(statement) if statement is not None else {}
    if not parts or not isinstance(call, ast.Call):
        return []
    scope, edits = program.source.scope_at(call.lineno), list[Edit]()
    for node in ast.walk(scope):
        if not isinstance(node, ast.Call) or called(node) != called(call):
            continue
        given = [each for each in node.args[1:_BY] if isinstance(each, ast.Name) and each.id in parts]
        outer = program.source.parents.get(node)
        first = isinstance(outer, ast.Subscript) and isinstance(outer.slice, ast.Constant)
        if not given or (called(node) == "grad" and not first):
            continue
        taken = parts[given[0].id]
        end = end_of(outer) if first and isinstance(outer, ast.Subscript) else end_of(node)
        edits.append(program.edit(start_of(given[0]), end_of(given[0]), program.written(taken.value)))
        edits.append(program.edit(end, end, f"[{program.written(taken.slice)}]"))
    return edits


_BY = 2
"""The second argument is what is differentiated by."""


def _parts_taken(statement: ast.stmt) -> dict[str, ast.Subscript]:
    """Variable -> the subscript that gives it its value, of ``x, t = xt[:, :1], xt[:, 1:]``."""
    match statement:
        case ast.Assign(targets=[ast.Name() as target], value=ast.Subscript() as value):
            pairs: list[tuple[ast.expr, ast.expr]] = [(target, value)]
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(targets) == len(values):
            pairs = list(zip(targets, values, strict=True))
        case _:
            return {}
    return {
        target.id: value for target, value in pairs if isinstance(target, ast.Name) and isinstance(value, ast.Subscript)
    }


def _only_return(function: ast.FunctionDef) -> ast.expr | None:
    found = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
    return found[0] if len(found) == 1 else None


def _set_inside(function: ast.FunctionDef) -> set[str]:
    """The variables that a function sets itself."""
    return {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _is_nothing(part: ast.expr) -> bool:
    nothing = isinstance(part, ast.Constant) and part.value is None
    return nothing or (isinstance(part, ast.Call) and called(part) == "zeros_like")


def _derivative(program: Program, value: ast.expr, name: str, grad: str, known: set[str]) -> str | None:
    """What is multiplied with the gradient, as a whole; None where the expression is no such one."""
    reads = [n for n in ast.walk(value) if isinstance(n, ast.Name) and n.id == name]
    if isinstance(value, ast.Name) and value.id == name:
        return grad
    if len(_besides_shapes(value, name)) != 1 or not reads:
        return None
    match value:
        case ast.Call(func=ast.Attribute(value=inner, attr=method)) if method in _SAME:
            return _derivative(program, inner, name, grad, known)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            found = _derivative(program, inner, name, grad, known)
            return None if found is None else f"-{found}"
        case ast.BinOp(left=left, op=op, right=right):
            first = any(n in ast.walk(left) for n in reads)
            inner, other = (left, right) if first else (right, left)
            found = _derivative(program, inner, name, grad, known)
            return None if found is None else _of_two(program, op, found, other, known, first=first)
    return None


def _besides_shapes(value: ast.expr, name: str) -> list[ast.Name]:
    """Where an expression reads the values of an input: what ``view_as`` is given is read for its shape alone."""
    shapes = {
        id(node)
        for call in ast.walk(value)
        if isinstance(call, ast.Call) and called(call) == "view_as"
        for argument in call.args
        for node in ast.walk(argument)
    }
    return [n for n in ast.walk(value) if isinstance(n, ast.Name) and n.id == name and id(n) not in shapes]


def _of_two(
    program: Program, op: ast.operator, found: str, other: ast.expr, known: set[str], *, first: bool
) -> str | None:
    plain = isinstance(other, ast.Constant) or (isinstance(other, ast.Name) and other.id in known)
    factor, text = program.written(other), None
    match op:
        case ast.Add():
            text = found
        case ast.Sub():
            text = found if first else f"-{found}"
        case ast.Mult() if plain:
            text = found if factor == "1" else f"{found} * {factor}"
        case ast.Div() if plain and first:
            text = f"{found} / {factor}"
        case ast.MatMult() if plain:
            text = f"{found} @ {factor}.mT" if first else f"{factor}.mT @ {found}"
    return text
