"""Parts of a statement: a call taken off, an argument set, a function exchanged, an expression replaced."""

from __future__ import annotations

import ast

from autograd_inspector.edits.array_functions import in_torch
from autograd_inspector.edits.matrices import stacked
from autograd_inspector.edits.program import Program, end_of, start_of
from autograd_inspector.edits.scope import all_known
from autograd_inspector.edits.statements import left_out
from autograd_inspector.model.edit import Edit
from autograd_inspector.model.location import Location
from autograd_inspector.model.remedy import Operand, Rename, SetArgument, Substitute, TakeOff
from autograd_inspector.source.fragments import expression
from autograd_inspector.source.writing import written

_METHODS = {"detach", "detach_", "item", "numpy", "tolist", "cpu"}
_TENSORS = {"tensor", "as_tensor", "from_numpy", "asarray", "array"}
_FUNCTIONS = _TENSORS | {"detach", "Parameter", "float"}
"""What copies a value without its history; around one of them the others are left out as well."""

ATOMS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.JoinedStr)


def taken_off(program: Program, remedy: TakeOff) -> list[Edit]:
    """The value itself in place of a copy without history; an assignment of the value to itself goes as a whole."""
    outer = program.expression(remedy.at)
    if outer is None:
        return []
    inner = outer
    while (further := _value_of(inner)) is not None:
        inner = further
    if inner is outer or any(_value_of(node) is not None for node in ast.walk(inner) if isinstance(node, ast.expr)):
        return []  # What is left of it has no history either.
    outer = _with_rewrapping(program, outer)
    text = in_torch(program, inner, outer)
    if text is None or _is_collected(program, outer):
        return []
    statement = program.statement_of(outer)
    match statement:
        case ast.Assign(targets=[target], value=value) if value is outer and written(target) == written(inner):
            return [left_out(program, statement)]
    if remedy.shown:
        text = stacked(program, inner)
    elif remedy.joined != "{}":
        text = remedy.joined.format(text)
    elif isinstance(inner, ast.List):
        text = ""
    elif not isinstance(inner, ATOMS) and not stands_alone(program, outer):
        text = f"({text})"
    return [program.edit(start_of(outer), end_of(outer), text)] if text else []


def _with_rewrapping(program: Program, node: ast.expr) -> ast.expr:
    """The call around a value without its history that makes a tensor of it again, as ``torch.from_numpy`` does."""
    parent = program.source.parents.get(node)
    while isinstance(parent, ast.Call) and parent.args[:1] == [node] and called(parent) in _TENSORS:
        node, parent = parent, program.source.parents.get(parent)
    return node


def _is_collected(program: Program, node: ast.expr) -> bool:
    """Whether a call copies a list of such values, or of what is computed of them, into a tensor."""
    outer = program.source.parents.get(node)
    while outer is not None and not isinstance(outer, (ast.stmt, ast.Lambda)):
        if isinstance(outer, ast.Call) and called(outer) in _TENSORS:
            return True
        outer = program.source.parents.get(outer)
    return False


def _value_of(node: ast.expr) -> ast.expr | None:
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr=method), args=[]) if method in _METHODS:
            return value
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=[value, *_]) if name in _FUNCTIONS:
            return value
        case ast.Attribute(value=value, attr="data"):
            return value
    return None


def stands_alone(program: Program, node: ast.expr) -> bool:
    """Whether no operator is beside an expression: it is all of a right side, an argument, or in brackets."""
    parent = program.source.parents.get(node)
    return isinstance(parent, (ast.stmt, ast.keyword)) or (isinstance(parent, ast.Call) and node in parent.args)


def set_argument(program: Program, remedy: SetArgument) -> list[Edit]:
    """The keyword argument with its new value, put in where the call has none of that name."""
    call = program.expression(remedy.at) or _only_call(program, remedy)
    if not isinstance(call, ast.Call) or called(call) != remedy.function:
        return []
    statement = program.statement_of(call)
    value = remedy.value
    if "{}" in value:
        given = next((keyword.value for keyword in call.keywords if keyword.arg == remedy.name), None)
        if given is None:
            return []
        value = value.format(program.written(given))
    if statement is None or not all_known(program, statement, value):
        return []
    return with_argument(program, call, remedy.name, value)


def _only_call(program: Program, remedy: SetArgument) -> ast.expr | None:
    """The one call of the function in the statement of a place without columns."""
    statement = program.statement(remedy.at) if remedy.at.column < 0 else None
    calls = [n for n in ast.walk(statement) if isinstance(n, ast.Call)] if statement is not None else []
    calls = [node for node in calls if called(node) == remedy.function]
    return calls[0] if len(calls) == 1 else None


def called(call: ast.Call) -> str:
    """The last name of the function that a call calls."""
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def with_argument(program: Program, call: ast.Call, name: str, value: str) -> list[Edit]:
    """The change of one keyword argument of a call; "" leaves it out."""
    keyword = next((k for k in call.keywords if k.arg == name), None)
    if keyword is None:
        return _argument_put_in(program, call, f"{name}={value}") if value else []
    if not value:
        return _argument_left_out(program, call, keyword)
    return [program.edit(start_of(keyword.value), end_of(keyword.value), value)]


def _argument_put_in(program: Program, call: ast.Call, text: str) -> list[Edit]:
    line, column = end_of(call)
    given = [*call.args, *(k.value for k in call.keywords)]
    if not given:
        return [program.edit((line, column - 1), (line, column - 1), text)]
    last = max(end_of(argument) for argument in given)
    bracket = program.within(last, (line, column)).lstrip()
    if bracket.startswith(")") and len(bracket) > 1:
        return []  # The argument has brackets of its own, or is a generator in the call's.
    if isinstance(given[-1], ast.GeneratorExp) and len(given) == 1:
        return []
    return [program.edit(last, last, f", {text}")]


def _argument_left_out(program: Program, call: ast.Call, keyword: ast.keyword) -> list[Edit]:
    begin, end = (keyword.lineno, keyword.col_offset), end_of(keyword.value)
    others = [*map(end_of, call.args), *(end_of(k.value) for k in call.keywords if k is not keyword)]
    before = [place for place in others if place < begin]
    if before:
        return [program.edit(max(before), end, "")]
    behind = [start_of(k.value) for k in call.keywords if (k.lineno, k.col_offset) > begin]
    following = [(k.lineno, k.col_offset) for k in call.keywords if (k.lineno, k.col_offset) > begin]
    return [program.edit(begin, min(following) if behind else end, "")]


def renamed(program: Program, remedy: Rename) -> list[Edit]:
    """Another function of the same owner; the arguments stay."""
    node = program.expression(remedy.at)
    function = node.func if isinstance(node, ast.Call) else node
    match function:
        case ast.Attribute(attr=attr):
            line, column = end_of(function)
            return [program.edit((line, column - len(attr.encode())), (line, column), remedy.name)]
        case ast.Name():
            return [program.edit(start_of(function), end_of(function), remedy.name)]
    return []


def substituted(program: Program, remedy: Substitute) -> list[Edit]:
    """Another expression wherever the statement reads one."""
    statement = program.statement(remedy.at)
    if statement is None:
        return []
    if not remedy.old:
        value = _computed(statement)
        return [] if value is None else [filled(program, value, remedy.new)]
    wanted = expression(remedy.old)
    if wanted is None:
        return []
    shape = ast.dump(wanted)
    return [
        filled(program, node, remedy.new)
        for part in _head(statement)
        for node in ast.walk(part)
        if isinstance(node, ast.expr)
        and type(node) is type(wanted)
        and ast.dump(node) == shape
        and not _is_identified(program, node)
    ]


def _is_identified(program: Program, node: ast.expr) -> bool:
    """Whether it is only asked which object something is: ``h is None``."""
    parent = program.source.parents.get(node)
    return isinstance(parent, ast.Compare) and all(isinstance(op, (ast.Is, ast.IsNot)) for op in parent.ops)


def _computed(statement: ast.stmt) -> ast.expr | None:
    """What a statement computes to keep it: what it assigns or returns, or the last argument of ``kept.append(x)``."""
    match statement:
        case ast.Assign(value=ast.Tuple()) | ast.Expr(value=ast.Call(args=[*_, ast.Starred()])):
            return None
        case ast.Expr(value=ast.Call(args=[*_, ast.Lambda(body=body)])):
            return _computed(ast.Expr(body))  # A hook that keeps something when it is called.
        case ast.Expr(value=ast.Call(args=[*_, value])):
            return value
        case ast.Assign(value=value) | ast.AugAssign(value=value) | ast.AnnAssign(value=ast.expr() as value):
            return value
        case ast.Return(value=ast.expr() as value) | ast.Expr(value=ast.Attribute() as value):
            return value
    return None


def with_operand(program: Program, remedy: Operand) -> list[Edit]:
    """Something else in place of one operand."""
    node = program.expression(remedy.at)
    if not isinstance(node, ast.Call) and remedy.which == "argument":
        whole = program.statement(remedy.at)
        node = _computed(whole) if isinstance(whole, (ast.Assign, ast.AnnAssign)) else None
    statement = program.statement_of(node) if node is not None else None
    if node is None or statement is None or not all_known(program, statement, remedy.new.replace("{}", "None")):
        return []
    operand: ast.expr | None
    match remedy.which:
        case "whole":
            operand = node
        case "argument":
            operand = node.args[0] if isinstance(node, ast.Call) and node.args else None
        case _:
            operand = operand_of(node, remedy.at, first=remedy.which == "first")
    return [] if operand is None or isinstance(operand, ast.Starred) else [filled(program, operand, remedy.new)]


def operand_of(node: ast.expr, at: Location, *, first: bool) -> ast.expr | None:
    """The receiver of a method, the first or last argument of a function, or what an operator stands beside."""
    match node:
        case ast.BinOp(left=left, right=right):
            return left if first else right
        case ast.UnaryOp(operand=operand):
            return operand
        case ast.Call(func=ast.Attribute(value=value), args=args) if first and written(value) not in at.namespaces:
            return value
        case ast.Call(args=args) if args:
            return args[0] if first else args[-1]
    return None


def filled(program: Program, node: ast.expr, new: str) -> Edit:
    """The change to ``new``, with the node's own text in place of ``{}``; brackets stand where they are needed."""
    text = program.written(node)
    inside = any(around in new for around in ("({})", "({},", ", {})"))
    if not inside and not isinstance(node, ATOMS):
        text = f"({text})"
    filled = new.replace("{}", text)
    if not isinstance(expression(filled), ATOMS) and not stands_alone(program, node):
        filled = f"({filled})"
    return program.edit(start_of(node), end_of(node), filled)


def _head(statement: ast.stmt) -> list[ast.AST]:
    """What a statement computes itself: of a loop or a ``with`` not its block."""
    return [node for node in ast.iter_child_nodes(statement) if not isinstance(node, ast.stmt)]
