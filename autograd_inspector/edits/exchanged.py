"""Tensors that go somewhere else: into the parameter that is there, to an owner's dtype, to another call."""

from __future__ import annotations

import ast

from autograd_inspector.edits.calls import imported
from autograd_inspector.edits.expressions import called
from autograd_inspector.edits.out_of_place import is_own
from autograd_inspector.edits.program import Program, end_of, first_place, start_of
from autograd_inspector.edits.scope import all_known
from autograd_inspector.model.edit import Edit
from autograd_inspector.model.rewrites import (
    AlsoDetach,
    AlsoGiven,
    Convert,
    DeepCopy,
    DetachAssigned,
    IntoParameter,
    NotCopied,
    OwnCopy,
    Share,
    SwapParts,
)
from autograd_inspector.source.fragments import is_path
from autograd_inspector.source.writing import written

_PAIR = 2


def into_parameter(program: Program, remedy: IntoParameter) -> list[Edit]:
    """``w.copy_(v)`` for ``w = nn.Parameter(v)``, under no_grad."""
    statement = program.statement(remedy.at)
    match statement:
        case ast.Assign(targets=[target], value=ast.Call() as made) if is_path(target):
            pass
        case _:
            return []
    if called(made) == "Parameter" and made.args and not isinstance(made.args[0], ast.Starred):
        value: ast.expr = made.args[0]
    elif called(made) == "requires_grad_" and isinstance(made.func, ast.Attribute):
        value = made.func.value
    else:
        return []
    alone = program.begins_its_line(statement) and program.ends_its_line(statement)
    if not alone or (value.end_lineno or value.lineno) > value.lineno or not all_known(program, statement, "torch"):
        return []
    indent = program.indent(statement)
    text = f"{indent}with torch.no_grad():\n{indent}    {program.written(target)}.copy_({program.written(value)})"
    return [program.edit((first_place(statement)[0], 0), end_of(statement), text)]


def converted(program: Program, remedy: Convert) -> list[Edit]:
    """``m.grad = p.grad.to(m)`` for ``m.grad = p.grad``."""
    statement = program.statement(remedy.at)
    match statement:
        case ast.Assign(targets=[ast.Attribute(value=owner)], value=value) if is_path(owner):
            pass
        case _:
            return []
    text, to = program.written(value), program.written(owner)
    if not isinstance(value, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)):
        text = f"({text})"
    shaped = f".view_as({to})" if remedy.shape else ""
    return [program.edit(start_of(value), end_of(value), f"{text}.to({to}){shaped}")]


def shared(program: Program, remedy: Share) -> list[Edit]:
    """``a.weight = b.weight`` for ``a.weight.data = b.weight.data`` and for ``a.weight.data = b.weight``."""
    statement = program.statement(remedy.at)
    match statement:
        case ast.Assign(targets=[ast.Attribute(value=ast.Attribute() as one, attr="data") as target], value=value):
            pass
        case _:
            return []
    other = value.value if isinstance(value, ast.Attribute) and value.attr == "data" else value
    if not is_own(one) or not is_own(other) or not isinstance(other, ast.Attribute):
        return []
    return [
        program.edit(start_of(target), end_of(target), program.written(one)),
        program.edit(start_of(value), end_of(value), program.written(other)),
    ]


def also_given(program: Program, remedy: AlsoGiven) -> list[Edit]:
    """``model, opt = prepare(model, opt)`` for ``model = prepare(model)``."""
    statement = program.statement(remedy.at)
    match statement:
        case ast.Assign(targets=[target], value=ast.Call(args=args) as call) if args and not call.keywords:
            pass
        case _:
            return []
    if not remedy.name.isidentifier() or not all_known(program, statement, remedy.name):
        return []
    targets = target.elts if isinstance(target, ast.Tuple) else [target]
    if len(targets) != len(args) or any(isinstance(part, ast.Starred) for part in (*targets, *args)):
        return []
    return [program.edit(end_of(part), end_of(part), f", {remedy.name}") for part in (targets[-1], args[-1])]


def parts_swapped(program: Program, remedy: SwapParts) -> list[Edit]:
    """``Adam(b + a)`` for ``Adam(a + b)``, ``[*b, *a]`` for ``[*a, *b]``; a variable leads to what it got."""
    call = program.expression(remedy.at)
    given = call.args[0] if isinstance(call, ast.Call) and call.args else None
    if isinstance(given, ast.Name):
        made = [
            node.value
            for node in program.source.nodes
            if isinstance(node, ast.Assign)
            and any(isinstance(target, ast.Name) and target.id == given.id for target in node.targets)
            and program.source.scope_at(node.lineno) is program.source.scope_at(given.lineno)
        ]
        given = made[0] if len(made) == 1 else None
    match given:
        case ast.BinOp(left=one, op=ast.Add(), right=other):
            pass
        case ast.List(elts=[one, other]) | ast.Tuple(elts=[one, other]):
            pass
        case ast.Call(args=[one, other]) if called(given) == "chain":
            pass
        case _:
            return []
    first, second = program.written(one), program.written(other)
    return [
        program.edit(start_of(one), end_of(one), second),
        program.edit(start_of(other), end_of(other), first),
    ]


def also_detached(program: Program, remedy: AlsoDetach) -> list[Edit]:
    """``h.detach(), c.detach()`` for ``h.detach(), c``."""
    node = program.expression(remedy.at)
    around = program.source.parents.get(node) if node is not None else None
    if not isinstance(around, (ast.Tuple, ast.List)):
        return []
    others = [part for part in around.elts if part is not node and is_path(part)]
    return [program.edit(end_of(part), end_of(part), ".detach()") for part in others]


def assigned_detached(program: Program, remedy: DetachAssigned) -> list[Edit]:
    """``ctx.out, ctx.n = out.detach(), n`` for ``ctx.out, ctx.n = out, n``."""
    statement = program.statement(remedy.at)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return []
    target, value = statement.targets[0], statement.value
    pairs = [(target, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        pairs = list(zip(target.elts, value.elts, strict=True))
    found = [part for to, part in pairs if written(to) == remedy.target]
    return [
        program.edit(end_of(part), end_of(part), ".detach()")
        if isinstance(part, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
        else program.edit(start_of(part), end_of(part), f"({program.written(part)}).detach()")
        for part in found
    ]


def deeply_copied(program: Program, remedy: DeepCopy) -> list[Edit]:
    """``copy.deepcopy(model)`` for ``copy.copy(model)``."""
    around: ast.AST = program.source.scope_at(remedy.at.lineno)
    while not isinstance(around, ast.ClassDef) and around in program.source.parents:
        around = program.source.parents[around]
    for whole in filter(None, (program.statement(remedy.at), around, program.source.tree)):
        calls = [node for node in ast.walk(whole) if isinstance(node, ast.Call) and written(node.func) == "copy.copy"]
        if len(calls) == 1:
            line, column = end_of(calls[0].func)
            return [program.edit((line, column - len("copy")), (line, column), "deepcopy")]
        if calls:
            return []
    return []


def copied_on_assignment(program: Program, remedy: OwnCopy) -> list[Edit]:
    """``self.old = copy.deepcopy(self.model).requires_grad_(False)`` for ``self.old = self.model``."""
    statement = program.statement(remedy.at)
    match statement:
        case ast.Assign(value=value) if is_path(value):
            pass
        case _:
            return []
    made = f"copy.deepcopy({program.written(value)}).requires_grad_(False)"
    known = all_known(program, statement, "copy")
    return [
        *([] if known else imported(program, "copy")),
        program.edit(start_of(value), end_of(value), made),
    ]


def not_copied(program: Program, remedy: NotCopied) -> list[Edit]:
    """``Adam(net.parameters())`` for ``Adam(copy.deepcopy(net).parameters())``."""
    call = program.expression(remedy.at)
    copies = [
        node
        for node in (ast.walk(call) if call is not None else ())
        if isinstance(node, ast.Call) and called(node) == remedy.by and len(node.args) == 1 and not node.keywords
    ]
    return [
        program.edit(start_of(node), end_of(node), program.written(node.args[0]))
        for node in copies
        if is_path(node.args[0]) and (not remedy.called or _is_called(program, node))
    ]


def _is_called(program: Program, node: ast.expr) -> bool:
    """Whether what an expression returns is called: ``copy.deepcopy(net)(x)``."""
    around = program.source.parents.get(node)
    return isinstance(around, ast.Call) and around.func is node
