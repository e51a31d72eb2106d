"""Constructs that are rewritten as a whole: properties, modes, divisions, iterators, loops over pairs."""

from __future__ import annotations

import ast

from autograd_inspector.edits.blocks import is_at, is_mode, wrapped_lines
from autograd_inspector.edits.expressions import called
from autograd_inspector.edits.program import Program, end_of, first_place, start_of
from autograd_inspector.edits.scope import all_known, known_outside
from autograd_inspector.edits.statements import LOOPS, beside, left_out, outwards
from autograd_inspector.model.edit import Edit
from autograd_inspector.model.rewrites import (
    AddInPlace,
    AsList,
    AsProperty,
    BesideCall,
    EnterHere,
    Reenter,
    TrueDivision,
    WriteBack,
)
from autograd_inspector.source.fragments import is_path
from autograd_inspector.source.index import Function
from autograd_inspector.source.writing import written


def as_property(program: Program, remedy: AsProperty) -> list[Edit]:
    """``@property def scale(self): return self.log_scale.exp()`` for ``self.scale = self.log_scale.exp()``."""
    statement = program.statement(remedy.at)
    match statement:
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=value):
            pass
        case _:
            return []
    method = program.source.parents.get(statement)
    owner = program.source.parents.get(method) if isinstance(method, ast.FunctionDef) else None
    if not isinstance(method, ast.FunctionDef) or not isinstance(owner, ast.ClassDef):
        return []
    alone = program.begins_its_line(statement) and program.ends_its_line(statement)
    multiple = (statement.end_lineno or statement.lineno) > statement.lineno
    if not alone or multiple or len(method.body) == 1 or _set_elsewhere(program, name, statement):
        return []
    own = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)} - {"self"}
    if not own <= known_outside(program, method):
        return []
    indent = program.indent(method)
    text = f"{indent}@property\n{indent}def {name}(self):\n{indent}    return {program.written(value)}\n\n"
    begin = first_place(method)[0], 0
    return [program.edit(begin, begin, text), left_out(program, statement)]


def _set_elsewhere(program: Program, name: str, own: ast.stmt) -> bool:
    """Whether another statement sets an attribute of that name, or a class has one."""
    mine = {id(node) for node in ast.walk(own)}
    return any(
        (isinstance(node, ast.Attribute) and node.attr == name and not isinstance(node.ctx, ast.Load))
        or (isinstance(node, Function) and node.name == name)
        for node in program.source.nodes
        if id(node) not in mine
    )


def reentered(program: Program, remedy: Reenter) -> list[Edit]:
    """``no_grad`` for ``inference_mode``, in the decorator or the ``with`` that enters it."""
    contexts = [d for f in program.source.functions for d in f.decorator_list if d.lineno == remedy.at.lineno]
    statement = program.statement(remedy.at)
    if not contexts and isinstance(statement, (ast.With, ast.AsyncWith)):
        entered = [item.context_expr for item in statement.items if is_mode(item.context_expr)]
        contexts = [node for node in entered if is_at(node, remedy.at)] or entered
    if len(contexts) != 1:
        return []
    context = contexts[0]
    if isinstance(context, ast.Call) and context.args:
        return []  # inference_mode(False) enters none.
    function = context.func if isinstance(context, ast.Call) else context
    if not isinstance(function, (ast.Attribute, ast.Name)):
        return []
    old = function.attr if isinstance(function, ast.Attribute) else function.id
    statement = program.statement_of(context)
    if isinstance(function, ast.Name) and (statement is None or not all_known(program, statement, remedy.name)):
        return []
    line, column = end_of(function)
    edit = program.edit((line, column - len(old.encode())), (line, column), remedy.name)
    bare = [] if isinstance(context, ast.Call) else [program.edit((line, column), (line, column), "()")]
    return [edit, *bare]


def entered_here(program: Program, remedy: EnterHere) -> list[Edit]:
    """``with torch.no_grad():`` around the next statement, for ``torch.no_grad()``."""
    statement = program.statement(remedy.at)
    if not (isinstance(statement, ast.Expr) and is_mode(statement.value)):
        return []
    block = program.block(statement)
    behind = block[block.index(statement) + 1 :][:1]
    if not behind or not all(program.begins_its_line(s) and program.ends_its_line(s) for s in (statement, *behind)):
        return []
    lines = wrapped_lines(program, behind[0], program.written(statement.value))
    begin, end = (first_place(behind[0])[0], 0), (end_of(behind[0])[0] + 1, 0)
    return [left_out(program, statement), program.edit(begin, end, lines)]


def truly_divided(program: Program, remedy: TrueDivision) -> list[Edit]:
    """``/`` for each ``//``."""
    statement = program.statement(remedy.at)
    inside: ast.AST | None = program.source.scope_at(remedy.at.lineno)
    lambdas = [] if statement is None else [node for node in ast.walk(statement) if isinstance(node, ast.Lambda)]
    lambdas = [node for node in lambdas if node.lineno <= remedy.at.lineno <= (node.end_lineno or node.lineno)]
    if lambdas:
        inside = lambdas[0]
    elif not isinstance(inside, Function):
        return []
    found = [n for n in ast.walk(inside) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.FloorDiv)]
    edits = []
    for node in found:
        between = program.within(end_of(node.left), start_of(node.right))
        if between.count("//") != 1 or "#" in between:
            return []
        edits.append(program.edit(end_of(node.left), start_of(node.right), between.replace("//", "/")))
    return edits


def as_list(program: Program, remedy: AsList) -> list[Edit]:
    """``params = list(net.parameters())`` for ``params = net.parameters()``."""
    call = program.expression(remedy.at)
    given = call.args[0] if isinstance(call, ast.Call) and call.args else None
    if given is None or not is_path(given):
        return []
    name = written(given)
    makers = [
        node
        for node in program.source.nodes
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and written(node.targets[0]) == name
    ]
    if len(makers) != 1 or not isinstance(makers[0].value, (ast.Call, ast.GeneratorExp)):
        return []
    value = makers[0].value
    if isinstance(value, ast.Call) and called(value) in {"list", "tuple"}:
        return []
    text = program.written(value)
    return [program.edit(start_of(value), end_of(value), f"list{text if text.startswith('(') else f'({text})'}")]


def written_back(program: Program, remedy: WriteBack) -> list[Edit]:
    """``for copy, p in zip(...): p.copy_(copy)`` behind the step, as the loop does that hands the gradients on."""
    statement, step = program.statement(remedy.at), program.statement(remedy.to)
    loop = program.source.parents.get(statement) if statement is not None else None
    match statement, loop:
        case (
            ast.Assign(targets=[ast.Attribute(value=ast.Name(id=copy), attr="grad")], value=value),
            ast.For(target=ast.Tuple(elts=[ast.Name(id=one), ast.Name(id=other)]) as pair, iter=over),
        ) if copy in {one, other}:
            source = other if copy == one else one
        case _:
            return []
    if step is None or (over.end_lineno or over.lineno) > over.lineno:
        return []
    if source not in {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}:
        return []
    if not all_known(program, step, program.written(over)) or not all_known(program, step, "torch"):
        return []
    head = f"for {program.written(pair)} in {program.written(over)}:"
    text = f"with torch.no_grad():\n    {head}\n        {source}.copy_({copy})"
    return beside(program, step, text, "behind")


def added_in_place(program: Program, remedy: AddInPlace) -> list[Edit]:
    """``total += loss`` for ``total = loss`` in a loop, and ``total = 0.0`` before it."""
    statement, other = program.statement(remedy.at), program.statement(remedy.to)
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            pass
        case _:
            return []
    if other is None or name in {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}:
        return []
    around = {id(node) for node in outwards(program, other)}
    loops = [node for node in outwards(program, statement) if isinstance(node, LOOPS) and id(node) not in around]
    if not loops:
        return []
    place = end_of(statement.targets[0])
    adding = program.edit(place, start_of(value), " += ")
    block = program.block(loops[-1])
    if any(name in _bound_by(each) for each in block[: block.index(loops[-1])]):
        return [adding]
    begins = beside(program, loops[-1], f"{name} = 0.0", "before")
    return [adding, *begins] if begins else []


def _bound_by(statement: ast.stmt) -> set[str]:
    """What an assignment gives a value."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}


def put_beside(program: Program, remedy: BesideCall) -> list[Edit]:
    """``scaler.update()`` behind ``scaler.step(optimizer)``."""
    statement = program.statement(remedy.at)
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner))) if is_path(owner):
            pass
        case _:
            return []
    scope = program.source.scope_at(statement.lineno)
    calls = [
        node
        for node in program.source.nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == remedy.method
        and written(node.func.value) == written(owner)
        and program.source.scope_at(node.lineno) is scope
    ]
    beside_it = program.statement_of(calls[0]) if len(calls) == 1 else None
    if beside_it is None or not all_known(program, beside_it, program.written(statement)):
        return []
    put = beside(program, beside_it, program.written(statement), "behind")
    return [left_out(program, statement), *put] if put else []
