"""Parameters that are computed, frozen in part, or in two groups of an optimizer."""

from __future__ import annotations

import ast

from autograd_inspector.edits.expressions import called
from autograd_inspector.edits.program import Program, end_of, start_of
from autograd_inspector.edits.scope import all_known
from autograd_inspector.model.edit import Edit
from autograd_inspector.model.rewrites import CallFunctional, CallWith, FreezeRows, OthersLeftOut
from autograd_inspector.source.fragments import is_path
from autograd_inspector.source.writing import written

_PAIR = 2


def called_with(program: Program, remedy: CallWith) -> list[Edit]:
    """``functional_call(net, {"weight": weight}, (x,))`` for ``net(x)`` behind ``net.weight.data = w``."""
    statement, call = program.statement(remedy.at), program.expression(remedy.call)
    found = _given(statement)
    if found is None or statement is None or not isinstance(call, ast.Call) or not is_path(call.func):
        return []
    parameter, value = found
    owner, path = written(call.func), written(parameter)
    inner = path.removeprefix(f"{owner}.")
    if inner == path or any(isinstance(argument, ast.Starred) for argument in call.args):
        return []
    free = (f"{prefix}{inner.rpartition('.')[2]}" for prefix in ("", "new_", "computed_"))
    name = next((each for each in free if not all_known(program, statement, each)), "")
    if not name or not all_known(program, statement, "torch") or any(k.arg is None for k in call.keywords):
        return []
    given = "".join(f"{program.written(argument)}, " for argument in call.args)
    arguments = f"({given.rstrip() if len(call.args) == 1 else given.rstrip(', ')})"
    keywords = ", ".join(f'"{k.arg}": {program.written(k.value)}' for k in call.keywords)
    text = f'torch.func.functional_call({owner}, {{"{inner}": {name}}}, {arguments}'
    text += f", {{{keywords}}})" if keywords else ")"
    return [
        program.edit(start_of(statement), end_of(statement), f"{name} = {program.written(value)}"),
        program.edit(start_of(call), end_of(call), text),
    ]


def functionally_called(program: Program, remedy: CallFunctional) -> list[Edit]:
    """``functional_call(net, params, (x,))`` for ``net(x)`` in a function of ``params`` that reads them nowhere.

    Of a program that works with parameters by their names: elsewhere they may be no dictionary.
    """
    call, statement = program.expression(remedy.at), program.statement(remedy.at)
    named = any(
        isinstance(n, (ast.Name, ast.Attribute)) and written(n).endswith(_BY_NAME) for n in program.source.nodes
    )
    if not isinstance(call, ast.Call) or statement is None or not is_path(call.func) or not named:
        return []
    unread = _unread_arguments(program, call)
    if len(unread) != 1 or call.keywords or any(isinstance(argument, ast.Starred) for argument in call.args):
        return []
    function = next(
        (name for name in ("functional_call", "torch.func.functional_call") if all_known(program, statement, name)), ""
    )
    given = ", ".join(map(program.written, call.args))
    arguments = f"({given},)" if len(call.args) == 1 else f"({given})"
    text = f"{function}({program.written(call.func)}, {unread[0]}, {arguments})"
    return [program.edit(start_of(call), end_of(call), text)] if function else []


_BY_NAME = ("named_parameters", "functional_call", "state_dict")


def _unread_arguments(program: Program, node: ast.AST) -> list[str]:
    """The arguments of the function around a node that nothing in it reads."""
    around: ast.AST | None = node
    while around is not None and not isinstance(around, (ast.FunctionDef, ast.Lambda)):
        around = program.source.parents.get(around)
    if around is None:
        return []
    inside = around.body if isinstance(around.body, list) else [around.body]
    read = {n.id for part in inside for n in ast.walk(part) if isinstance(n, ast.Name)}
    given = [argument.arg for argument in (*around.args.posonlyargs, *around.args.args)]
    return [name for name in given if name not in read | {"self", "cls"}]


def _given(statement: ast.stmt | None) -> tuple[ast.expr, ast.expr] | None:
    """(the parameter, what the statement gives it): ``p.data = v``, ``p.data.copy_(v)`` and ``p = nn.Parameter(v)``."""
    match statement:
        case ast.Assign(targets=[ast.Attribute(value=ast.Attribute() as parameter, attr="data")], value=value):
            pass
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Attribute(value=ast.Attribute() as parameter, attr="data"), attr="copy_"),
                args=[value],
            )
        ):
            pass
        case ast.Assign(targets=[ast.Attribute() as parameter], value=ast.Call(args=[value, *_]) as made) if (
            called(made) == "Parameter"
        ):
            pass
        case _:
            return None
    return (parameter, value) if is_path(parameter) and not isinstance(value, ast.Starred) else None


def rows_frozen(program: Program, remedy: FreezeRows) -> list[Edit]:
    """A hook that multiplies with a mask, for ``w[:n].requires_grad = False`` and ``w[:n].requires_grad_(False)``."""
    statement = program.statement(remedy.at)
    match statement:
        case ast.Assign(
            targets=[ast.Attribute(value=ast.Subscript(value=owner, slice=part), attr="requires_grad")],
            value=ast.Constant(value=False),
        ):
            pass
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Subscript(value=owner, slice=part), attr="requires_grad_"),
                args=[ast.Constant(value=False)],
            )
        ):
            pass
        case _:
            return []
    if not is_path(owner) or not program.begins_its_line(statement) or not all_known(program, statement, "torch"):
        return []
    name = next((each for each in ("trained", "trained_part") if not all_known(program, statement, each)), "")
    path, indent = program.written(owner), program.indent(statement)
    lines = (
        f"{name} = torch.ones_like({path})",
        f"{name}[{program.written(part)}] = 0",
        f"{path}.register_hook(lambda grad, {name}={name}: grad * {name})",
    )
    return [program.edit(start_of(statement), end_of(statement), f"\n{indent}".join(lines))] if name else []


def others_left_out(program: Program, remedy: OthersLeftOut) -> list[Edit]:
    """``[p for p in net.parameters() if not any(p is q for q in biases)]`` for ``net.parameters()``."""
    around = program.source.scope_at(remedy.at.lineno)
    lists = [found for node in program.source.nodes if (found := _groups(node))]
    here = [found for found in lists if program.source.scope_at(found[0].lineno) is around] or lists
    if len(here) != 1:
        return []
    whole = [value for value in here[0] if isinstance(value, ast.Call) and called(value) == "parameters"]
    general = (whole or here[0])[0]
    others = [value for value in here[0] if value is not general]
    if any(isinstance(value, ast.GeneratorExp) for value in here[0]):
        return []
    text = (
        program.written(others[0]) if len(others) == 1 else f"[{', '.join(f'*{program.written(o)}' for o in others)}]"
    )
    kept = f"[p for p in {program.written(general)} if not any(p is q for q in {text})]"
    return [program.edit(start_of(general), end_of(general), kept)]


def _groups(node: ast.AST) -> list[ast.expr]:
    """The parameters of each group, where a list of several is written out."""
    if not isinstance(node, ast.List) or len(node.elts) < _PAIR:
        return []
    found = [
        value
        for group in node.elts
        if isinstance(group, ast.Dict)
        for key, value in zip(group.keys, group.values, strict=True)
        if isinstance(key, ast.Constant) and key.value == "params"
    ]
    return found if len(found) == len(node.elts) else []
