"""What a module holds as a plain attribute, or a buffer -> what it registers; a parameter -> a buffer."""

from __future__ import annotations

import ast

from autograd_inspector.edits.expressions import called, with_argument
from autograd_inspector.edits.program import Program, end_of, start_of
from autograd_inspector.edits.scope import all_known
from autograd_inspector.model.edit import Edit
from autograd_inspector.model.remedy import Register
from autograd_inspector.model.rewrites import IntoBuffer

_LISTS = (ast.List, ast.ListComp, ast.Tuple)


def registered(program: Program, remedy: Register) -> list[Edit]:
    """``nn.ModuleList([...])`` for a list that an attribute gets, or that such an attribute's list is extended by."""
    statement = program.statement(remedy.at)
    if statement is not None and remedy.parameters and (as_buffer := _as_buffer(statement)) is not None:
        name, given = as_buffer
        home = "nn" if all_known(program, statement, "nn") else "torch.nn"
        made = f"self.{name} = {home}.Parameter({program.written(given)}.detach())"
        return [program.edit(start_of(statement), end_of(statement), made)]
    value = None if statement is None else _value(program, statement)
    if statement is None or value is None:
        return []
    home = "nn" if all_known(program, statement, "nn") else "torch.nn"
    if _has_text_keys(program, value):
        kind = "ParameterDict" if remedy.parameters and not _makes_modules(value) else "ModuleDict"
    elif _is_list(value):
        kind = "ParameterList" if remedy.parameters and not _gets_modules(statement) else "ModuleList"
    elif remedy.parameters and not _is_parameter(value):
        kind = "Parameter"
    else:
        return []
    inside = program.written(value)
    if isinstance(value, ast.Call) and _is_list(value) and not value.args:
        inside = ""
    if kind == "Parameter" and isinstance(value, ast.Call):
        freed = with_argument(program, value, "requires_grad", "")
        if freed:
            begin, end = start_of(value), end_of(value)
            return [program.edit(begin, begin, f"{home}.Parameter("), *freed, program.edit(end, end, ")")]
    if kind == "Parameter":
        inside = f"({inside}).detach()" if not isinstance(value, (ast.Call, ast.Name)) else f"{inside}.detach()"
    return [program.edit(start_of(value), end_of(value), f"{home}.{kind}({inside})")]


def registered_as_buffer(program: Program, remedy: IntoBuffer) -> list[Edit]:
    """``self.register_buffer("beta", value)`` for ``self.beta = nn.Parameter(value)``."""
    statement = program.statement(remedy.at)
    match statement:
        case ast.Assign(
            targets=[ast.Attribute(value=ast.Name() as owner, attr=name)], value=ast.Call(args=[value]) as made
        ) if _is_parameter(made):
            text = f'{owner.id}.register_buffer("{name}", {program.written(value)})'
            return [program.edit(start_of(statement), end_of(statement), text)]
    return []


def _as_buffer(statement: ast.stmt) -> tuple[str, ast.expr] | None:
    """(name, what is written there) of ``self.register_buffer("beta", made(...))``."""
    match statement:
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name(id="self"), attr="register_buffer"),
                args=[ast.Constant(value=str() as name), (ast.Call() | ast.Name() | ast.Attribute()) as given, *_],
            )
        ):
            return name, given
    return None


def _value(program: Program, statement: ast.stmt) -> ast.expr | None:
    """What an attribute of ``self`` is given; of ``self.layers.append(x)`` what it was given in that class."""
    match statement:
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"))], value=value):
            return value
        case ast.AnnAssign(target=ast.Attribute(value=ast.Name(id="self")), value=ast.expr() as value):
            return value
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Attribute(value=ast.Name(id="self"), attr=name)))):
            return _made(program, statement, name)
    return _filled(program, statement)


def _gets_modules(statement: ast.stmt) -> bool:
    """Whether what a list is given in a statement is made by a class that is no Parameter."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="append" | "extend"), args=[ast.Call() as made])):
            return called(made) not in {"Parameter", "list"} and called(made)[:1].isupper()
    return False


def _filled(program: Program, statement: ast.stmt) -> ast.expr | None:
    """The one empty list of a class's ``__init__`` that it fills itself, ``self.layers = []``."""
    method: ast.AST | None = program.source.scope_at(statement.lineno)
    if not (isinstance(method, ast.FunctionDef) and method.name == "__init__"):
        return None
    empty = {
        node.targets[0].attr: node.value
        for node in ast.walk(method)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Attribute)
        and isinstance(node.value, ast.List)
        and not node.value.elts
    }
    appended = {
        node.func.value.attr
        for node in ast.walk(method)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"append", "extend"}
        and isinstance(node.func.value, ast.Attribute)
    }
    found = [name for name in empty if name in appended]
    return empty[found[0]] if len(found) == 1 else None


def _made(program: Program, statement: ast.stmt, name: str) -> ast.expr | None:
    owner: ast.AST | None = statement
    while owner is not None and not isinstance(owner, ast.ClassDef):
        owner = program.source.parents.get(owner)
    for node in ast.walk(owner) if owner is not None else ():
        match node:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=attr)], value=value) if attr == name:
                return value
    return None


def _has_text_keys(program: Program, value: ast.expr) -> bool:
    """Whether it is a dict whose keys are sure to be strings, which a ModuleDict needs."""
    match value:
        case ast.Dict(keys=keys):
            return bool(keys) and all(key is not None and _is_text(key) for key in keys)
        case ast.DictComp(key=ast.Name(id=name), generators=[ast.comprehension(target=ast.Name(id=over), iter=given)]):
            return name == over and _is_of_texts(_constant(program, given))
        case ast.DictComp(key=key):
            return _is_text(key)
    return False


def _is_text(node: ast.expr) -> bool:
    constant = isinstance(node, ast.Constant) and isinstance(node.value, str) and "." not in node.value
    return constant or isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Call) and called(node) == "str")


def _is_of_texts(node: ast.expr | None) -> bool:
    return isinstance(node, (ast.List, ast.Tuple)) and all(map(_is_text, node.elts))


def _constant(program: Program, node: ast.expr) -> ast.expr | None:
    """What is written there, or what the file gives that name, once."""
    if not isinstance(node, ast.Name):
        return node
    given = [
        each.value
        for each in program.source.tree.body
        if isinstance(each, ast.Assign) and any(isinstance(t, ast.Name) and t.id == node.id for t in each.targets)
    ]
    return given[0] if len(given) == 1 else None


def _makes_modules(value: ast.expr) -> bool:
    """Whether the entries of a dict are made by classes that are no Parameter."""
    made = [value.value] if isinstance(value, ast.DictComp) else value.values if isinstance(value, ast.Dict) else []
    names = [called(each) if isinstance(each, ast.Call) else "" for each in made]
    return all(name[:1].isupper() and name != "Parameter" for name in names)


def _is_list(value: ast.expr) -> bool:
    made = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in {"list", "tuple"}
    return made or isinstance(value, _LISTS)


def _is_parameter(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "Parameter"
