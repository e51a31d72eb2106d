"""Where an argument comes from that a call passes by a name: a statement, or a parameter of the function around."""

from __future__ import annotations

import ast
from typing import NamedTuple

from autograd_inspector.source.index import Function, Source, Span


class Origin(NamedTuple):
    """``line`` assigns the ``variable``; 0: it is a parameter, the one at ``place``, of the function around."""

    variable: str
    line: int
    place: int = -1


def origin(source: Source, span: Span, argument: str, place: int = -1) -> Origin | None:
    """Of what the call that stands there passes as an argument by keyword, else at a place; None: it is no variable."""
    call = source.expression_at(span)
    if not isinstance(call, ast.Call):
        return None
    given = {keyword.arg: keyword.value for keyword in call.keywords}.get(argument)
    if given is None and 0 <= place < len(call.args) and not any(isinstance(a, ast.Starred) for a in call.args):
        given = call.args[place]
    if not isinstance(given, ast.Name):
        return None
    scope = source.scope_at(span[0])
    assigning = [node for node in ast.walk(scope) if isinstance(node, ast.Assign) and _assigns(node, given.id)]
    assigned = [node.lineno for node in assigning if source.scope_at(node.lineno) is scope]
    if assigned:
        return Origin(given.id, assigned[0]) if len(assigned) == 1 else None
    if not isinstance(scope, Function):
        return None
    names = [each.arg for each in (*scope.args.posonlyargs, *scope.args.args)]
    if given.id in names:
        return Origin(given.id, 0, names.index(given.id) - isinstance(source.parents.get(scope), ast.ClassDef))
    return Origin(given.id, 0) if given.id in {each.arg for each in scope.args.kwonlyargs} else None


def _assigns(node: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
