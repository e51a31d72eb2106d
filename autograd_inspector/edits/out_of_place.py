"""An operation in place -> the one that returns a new tensor; or a copy that it may modify."""

from __future__ import annotations

import ast

from autograd_inspector.edits.expressions import called, with_argument
from autograd_inspector.edits.program import Program, end_of, start_of
from autograd_inspector.edits.scope import is_last_use
from autograd_inspector.edits.statements import beside
from autograd_inspector.model.edit import Edit
from autograd_inspector.model.remedy import NotInPlace, OutOfPlace, ReturnNew
from autograd_inspector.model.rewrites import OffData
from autograd_inspector.source.fragments import is_path
from autograd_inspector.source.writing import written

OPERATORS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.MatMult: "@",
    ast.Pow: "**",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
}
_TIGHT = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant)


def computed_anew(program: Program, remedy: OutOfPlace) -> list[Edit]:
    """``x = x.add(1)`` for ``x.add_(1)``, ``x = x + 1`` for ``x += 1``, ``inplace=False`` for True."""
    statement = program.statement(remedy.at)
    node = program.expression(remedy.at)
    match statement:
        case ast.AugAssign(target=ast.Subscript() as target) if remedy.views:
            return _copy_first(program, statement, _owner(target, remedy.views), read_later=remedy.read_later)
        case ast.AugAssign():
            return _augmented(program, statement, read_later=remedy.read_later)
        case ast.Assign(targets=[ast.Subscript() as target], value=value) if node is not value and remedy.views:
            return _copy_first(program, statement, _owner(target, remedy.views), read_later=remedy.read_later)
    if isinstance(node, ast.Call) and any(keyword.arg == "inplace" for keyword in node.keywords):
        return with_argument(program, node, "inplace", "False")
    if statement is None or not isinstance(node, ast.Call):
        return []
    return _methods(program, statement, node, remedy)


def _augmented(program: Program, statement: ast.AugAssign, *, read_later: bool) -> list[Edit]:
    operator = OPERATORS.get(type(statement.op))
    target = _without_data(statement.target)
    if operator is None or not _may_get_another(program, statement, target, read_later=read_later):
        return []
    name, value = program.written(target), program.written(statement.value)
    if not isinstance(statement.value, _TIGHT):
        value = f"({value})"
    return [
        program.edit(start_of(statement), start_of(statement.value), f"{name} = {name} {operator} "),
        *(
            [program.edit(start_of(statement.value), end_of(statement.value), value)]
            if value != program.written(statement.value)
            else []
        ),
    ]


def _methods(program: Program, statement: ast.stmt, node: ast.Call, remedy: OutOfPlace) -> list[Edit]:
    """All methods in place of a chain: ``x.add_(1).mul_(2)``. The variable that they modify gets the result."""
    chain = _outermost_call(program, node)
    methods, base = _in_place_methods(chain)
    if not methods or written(base) in remedy.at.namespaces:
        return _function(program, statement, node)
    target = _without_data(base)
    whole = isinstance(statement, ast.Expr) and statement.value is chain
    own = is_own(target) and (remedy.views == 0 or not isinstance(target, ast.Subscript) or not whole)
    if remedy.copied or (whole and not own):
        owner = _owner(base, remedy.views)
        if not whole:
            return _copied_there(program, methods[-1])
        if not (remedy.copied and owner is base and own):
            return _copy_first(program, statement, owner, read_later=remedy.read_later)
    if remedy.copied:
        edits = _copied_there(program, methods[-1])
    else:
        edits = [program.edit((end_of(m)[0], end_of(m)[1] - 1), end_of(m), "") for m in methods]
    if target is not base:
        edits.append(program.edit(end_of(target), end_of(base), ""))
    if whole:
        if not _may_get_another(program, statement, target, read_later=remedy.read_later):
            return []
        begin = start_of(statement)
        return [program.edit(begin, begin, f"{program.written(target)} = "), *edits]
    return edits


def _copied_there(program: Program, method: ast.Attribute) -> list[Edit]:
    """``x.clone().fill_(1)`` within an expression."""
    line, column = end_of(method)
    column -= len(method.attr.encode()) + 1
    return [program.edit((line, column), (line, column), ".clone()")] if column >= 0 else []


def _in_place_methods(chain: ast.expr) -> tuple[list[ast.Attribute], ast.expr]:
    """(the methods in place that a chain ends with, the last first; what the first of them modifies)."""
    methods: list[ast.Attribute] = []
    while isinstance(chain, ast.Call) and isinstance(chain.func, ast.Attribute):
        method = chain.func
        if not method.attr.endswith("_") or method.attr.endswith("__"):
            break
        methods.append(method)
        chain = method.value
    return methods, chain


def _owner(node: ast.expr, views: int) -> ast.expr:
    """What so many views show a part of: ``mask`` of ``mask.diagonal(1)``, of ``mask[0].T`` and of ``mask.data``.

    -1: whatever looks like one is a view.
    """
    while views and not isinstance(node, ast.Name):
        match node:
            case ast.Call(func=ast.Attribute(value=value)) | ast.Subscript(value=value):
                node = value
            case ast.Attribute(value=value) if views > 0 or node.attr in _VIEWS:
                node = value
            case _:
                return node
        views -= 1
    return node


_VIEWS = {"data", "T", "mT", "H", "mH", "real", "imag"}


def _copy_first(program: Program, statement: ast.stmt, owner: ast.expr, *, read_later: bool) -> list[Edit]:
    """``x = x.clone()`` before the statement that modifies it."""
    if not _may_get_another(program, statement, owner, read_later=read_later):
        return []
    name = program.written(owner)
    return beside(program, statement, f"{name} = {name}.clone()", "before")


def _may_get_another(program: Program, statement: ast.stmt, target: ast.expr, *, read_later: bool) -> bool:
    """Whether the program would find a new tensor where the statement has modified one."""
    return (
        is_own(target)
        and not _is_loop_variable(program, statement, target)
        and not (read_later and isinstance(target, ast.Name) and is_last_use(program, statement, target.id))
    )


def is_own(node: ast.expr) -> bool:
    """Whether it is a variable, an attribute or an item, which means the same wherever it is written."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Subscript) and any(
            isinstance(n, (ast.Call, ast.NamedExpr)) for n in ast.walk(node.slice)
        ):
            return False
        node = node.value
    return isinstance(node, ast.Name)


def _is_loop_variable(program: Program, statement: ast.stmt, target: ast.expr) -> bool:
    """Whether a loop around the statement gives the variable its values: a new tensor would be dropped at its end."""
    name = target.id if isinstance(target, ast.Name) else ""
    node: ast.AST | None = statement
    while name and node is not None:
        if isinstance(node, (ast.For, ast.AsyncFor)) and any(
            isinstance(part, ast.Name) and part.id == name for part in ast.walk(node.target)
        ):
            return True
        node = program.source.parents.get(node)
    return False


def _function(program: Program, statement: ast.stmt, node: ast.Call) -> list[Edit]:
    """``x = torch.relu(x)`` for ``torch.relu_(x)``."""
    match node.func:
        case ast.Attribute(value=home, attr=name) if (
            written(home).rpartition(".")[2] == "init" and node.args and is_path(node.args[0])
        ):
            # They all write: a copy is given.
            first, begin = node.args[0], start_of(statement)
            if not (isinstance(statement, ast.Expr) and statement.value is node):
                return []
            return [
                program.edit(begin, begin, f"{program.written(first)} = "),
                program.edit(end_of(first), end_of(first), ".detach().clone()"),
            ]
        case ast.Attribute(attr=name) if name.endswith("_") and node.args and is_path(node.args[0]):
            line, column = end_of(node.func)
            edits = [program.edit((line, column - 1), (line, column), "")]
            if isinstance(statement, ast.Expr) and statement.value is node:
                begin = start_of(statement)
                return [program.edit(begin, begin, f"{program.written(node.args[0])} = "), *edits]
            return edits
    return []


def _outermost_call(program: Program, node: ast.Call) -> ast.Call:
    """The end of the chain of methods in place that a call is a part of."""
    outer = node
    while True:
        attribute = program.source.parents.get(outer)
        call = program.source.parents.get(attribute) if isinstance(attribute, ast.Attribute) else None
        if not (isinstance(call, ast.Call) and call.func is attribute):
            return outer
        outer = call


def _without_data(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.Attribute) and node.attr == "data" else node


def not_in_place(program: Program, remedy: NotInPlace) -> list[Edit]:
    """``inplace=False`` for True, or for the True that stands last, wherever a module of that class is made."""
    calls = [node for node in program.source.nodes if isinstance(node, ast.Call) and called(node) == remedy.module]
    trues = [value for call in calls if (value := _says_inplace(call)) is not None]
    return [program.edit(start_of(value), end_of(value), "False") for value in trues]


def _says_inplace(call: ast.Call) -> ast.Constant | None:
    """The True of a module's constructor; torch's modules take ``inplace`` as their last argument."""
    keywords = [keyword.value for keyword in call.keywords if keyword.arg == "inplace"]
    match keywords or call.args[-1:]:
        case [ast.Constant(value=True) as value]:
            return value
    return None


def returned_new(program: Program, remedy: ReturnNew) -> list[Edit]:
    """The op out of place in a hook; what a hook that returns nothing has made is returned at its end."""
    statement = program.statement(remedy.at)
    edits = computed_anew(program, remedy.how)
    hook: ast.AST | None = statement
    while hook is not None and not isinstance(hook, (ast.FunctionDef, ast.Lambda)):
        hook = program.source.parents.get(hook)
    if statement is None or not edits or not isinstance(hook, ast.FunctionDef):
        return edits
    if any(isinstance(node, ast.Return) and node.value is not None for node in ast.walk(hook)):
        return edits
    names = [argument.arg for argument in hook.args.args if argument.arg not in {"self", "cls"}]
    if not names or hook.body[-1] is not statement:
        return []
    return [*edits, *beside(program, statement, f"return {names[-1]}", "behind")]


def off_data(program: Program, remedy: OffData) -> list[Edit]:
    """``x.add_(v)`` for ``x.data.add_(v)`` and ``x.detach().add_(v)``."""
    call = program.expression(remedy.at)
    if not isinstance(call, ast.Call):
        return []
    methods, base = _in_place_methods(_outermost_call(program, call))
    match base:
        case (
            ast.Attribute(value=value, attr="data") | ast.Call(func=ast.Attribute(value=value, attr="detach"), args=[])
        ):
            return [program.edit(end_of(value), end_of(base), "")] if methods and is_own(value) else []
    return []
