"""Functions of NumPy as those of torch: ``torch.clip(a, -1, 1)`` for ``torch.from_numpy(np.clip(a, -1, 1))``."""

from __future__ import annotations

import ast

from autograd_inspector.edits.program import Program, end_of, start_of
from autograd_inspector.source.bindings import Bindings
from autograd_inspector.source.writing import written

_SAME = frozenset(
    {"abs", "clip", "cos", "exp", "expm1", "floor", "log", "log1p", "sign", "sin", "sqrt", "square", "tan", "tanh"}
    | {"ceil", "round", "where"}
)
"""Functions that take the same arguments, in the same order, from both libraries."""


def in_torch(program: Program, inner: ast.expr, outer: ast.expr) -> str | None:
    """The text of a value with torch's functions in place of NumPy's; None where torch has none that is called alike.

    ``outer`` is the call of torch that made a tensor of it, and says by what name the program knows torch.
    """
    calls = [node for node in ast.walk(inner) if isinstance(node, ast.Call) and _is_of_numpy(program, node)]
    if not calls:
        return program.written(inner)
    owner = outer.func.value if isinstance(outer, ast.Call) and isinstance(outer.func, ast.Attribute) else None
    if owner is None or not _is_path_of(program, owner, "torch"):
        return None
    names = [call.func for call in calls if isinstance(call.func, ast.Attribute)]
    if len(names) < len(calls) or any(name.attr not in _SAME for name in names):
        return None
    text, begin = program.written(inner), start_of(inner)
    for name in sorted(names, key=start_of, reverse=True):
        if begin[0] != end_of(name.value)[0]:
            return None  # Columns of another line are not those of the text.
        first, last = (place[1] - begin[1] for place in (start_of(name.value), end_of(name.value)))
        data = text.encode()
        text = (data[:first] + written(owner).encode() + data[last:]).decode()
    return text


def _is_of_numpy(program: Program, call: ast.Call) -> bool:
    match call.func:
        case ast.Attribute(value=owner):
            return _is_path_of(program, owner, "numpy")
        case ast.Name() as name:
            return _is_path_of(program, name, "numpy")
    return False


def _is_path_of(program: Program, node: ast.expr, package: str) -> bool:
    """Whether a name is that of an imported module, or of something in it."""
    while isinstance(node, ast.Attribute):
        node = node.value
    if not isinstance(node, ast.Name):
        return False
    bindings = program.source.index(Bindings)
    scope = bindings.scope_of(node.id, node.lineno)
    meaning = bindings.meaning(node.id, scope) if scope is not None else None
    return meaning is not None and meaning.imported and meaning.path.partition(".")[0] == package
