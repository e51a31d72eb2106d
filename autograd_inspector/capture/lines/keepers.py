"""The line that puts a result away for good, read off the source: ``history.append(loss)``, or what does so for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autograd_inspector.capture.lines.sources import compiled, scope_of, tree_of
from autograd_inspector.capture.lines.stacks import Stacks
from autograd_inspector.model.location import Location

_KEEPING = frozenset(
    {"append", "appendleft", "extend", "insert", "add", "put", "put_nowait", "update", "setdefault", "push", "store"}
)
_HOOKS = frozenset({"register_forward_hook", "register_module_forward_hook"})
_VIEWS = frozenset({"items", "values"})
_WALKS = frozenset({"zip", "enumerate", "reversed", "list", "tuple", "sorted"})
_DEEPEST = 3
"""Helpers that call helpers are followed so far."""

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def keeper(stacks: Stacks, site: int) -> int:
    """The site where what a statement (or one of its callers) assigns is put into something; -1 unknown.

    A helper of the same file that is given the result may do it, or a forward hook, which is given it by torch.
    """
    chain = [(code, lasti) for code, lasti, library in stacks.chains[site] if not library]
    for code, lasti in chain:
        here, tree = compiled(code, lasti, library=False), tree_of(code.co_filename)
        if tree is None:
            continue
        names = {part.strip() for part in here.target.strip("()").split(",")} - {""} or _collected(tree, here)
        if names:
            line = _kept(tree, scope_of(tree, here.lineno), names, _DEEPEST)
            if line:
                return stacks.of_code(code, line)
    for code, _ in chain:
        tree = tree_of(code.co_filename)
        line = _hooked(tree) if tree is not None else 0
        if line:
            return stacks.of_code(code, line)
    return -1


def _kept(tree: ast.Module, scope: ast.AST, names: set[str], depth: int) -> int:
    """The line within a scope, or within a helper that it calls, that keeps one of the variables."""
    names = _spread(scope, names)
    for node in ast.walk(scope):
        if any(isinstance(value, ast.Name) and value.id in names for value in _stored(node)):
            return int(getattr(node, "lineno", 0))
    for node in ast.walk(scope) if depth else ():
        if isinstance(node, ast.Call):
            for function, parameters in _handed(tree, node, names):
                line = _kept(tree, function, parameters, depth - 1) if function is not scope else 0
                if line:
                    return line
    return 0


def _collected(tree: ast.Module, here: Location) -> set[str]:
    """The variable that gets what is computed there as a part of a display: ``losses = {"ce": loss(x), "l2": ...}``."""
    span = (here.lineno, here.column, here.end_lineno, here.end_column)
    for node in ast.walk(scope_of(tree, here.lineno)):
        if isinstance(node, ast.Assign) and node.lineno <= here.lineno <= (node.end_lineno or 0):
            parts = [part for part in _parts([node.value]) if part is not node.value]
            if any((p.lineno, p.col_offset, p.end_lineno, p.end_col_offset) == span for p in parts):
                return {target.id for target in node.targets if isinstance(target, ast.Name)}
    return set()


def _spread(scope: ast.AST, names: set[str]) -> set[str]:
    """The variables, and those that go over one of them: ``for name, value in losses.items()``."""
    found = set(names)
    for node in ast.walk(scope):
        if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)) and _over(node.iter) & found:
            found |= {part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)}
    return found


def _over(given: ast.expr) -> set[str]:
    """The variables whose entries a loop goes over: of ``d.items()``, ``zip(a, b)``, not ``range(n)``."""
    if isinstance(given, ast.Name):
        return {given.id}
    if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr in _VIEWS:
        return _over(given.func.value)
    if isinstance(given, ast.Call) and isinstance(given.func, ast.Name) and given.func.id in _WALKS:
        return {name for argument in given.args for name in _over(argument)}
    return set()


def _handed(tree: ast.Module, call: ast.Call, names: set[str]) -> Iterator[tuple[Function, set[str]]]:
    """(function of that name in the file, its parameters that are given one of the variables)."""
    callee = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    places = {i for i, value in enumerate(call.args) if isinstance(value, ast.Name) and value.id in names}
    keywords = {k.arg for k in call.keywords if isinstance(k.value, ast.Name) and k.value.id in names and k.arg}
    for node in ast.walk(tree) if places or keywords else ():
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == callee:
            given = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
            own = given[1:] if given[:1] in (["self"], ["cls"]) else given
            found = {own[i] for i in places if i < len(own)} | (
                keywords & {*own, *(a.arg for a in node.args.kwonlyargs)}
            )
            if node.args.vararg is not None and any(i >= len(own) for i in places):
                found.add(node.args.vararg.arg)
            if node.args.kwarg is not None and keywords - found:
                found.add(node.args.kwarg.arg)
            if found:
                yield node, found


def _hooked(tree: ast.Module) -> int:
    """The line where a forward hook keeps the output that it is given."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _HOOKS
            and node.args
        ):
            for hook in _functions(tree, node.args[0]):
                last = [argument.arg for argument in hook.args.args][-1:]
                line = _kept(tree, hook, set(last), 0)
                if line:
                    return line
    return 0


def _functions(tree: ast.Module, given: ast.expr) -> list[Function]:
    """The functions that an expression may mean: a lambda, a name, ``self.hook``, ``make_hook(name)``."""
    if isinstance(given, ast.Lambda):
        return [given]
    maker = given.func if isinstance(given, ast.Call) else given
    name = maker.attr if isinstance(maker, ast.Attribute) else getattr(maker, "id", "")
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name]
    if isinstance(given, ast.Call):
        return [
            node for outer in found for node in ast.walk(outer) if isinstance(node, _FUNCTIONS) and node is not outer
        ]
    return [*found]


_FUNCTIONS = (ast.FunctionDef, ast.Lambda)


def _stored(node: ast.AST) -> list[ast.expr]:
    """The values that a statement or call puts into a container, an item or an attribute (whole, not ``x.item()``)."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _KEEPING:
        return _parts([*node.args, *(keyword.value for keyword in node.keywords)])
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Subscript, ast.Attribute)):
        return _parts([node.value])
    if isinstance(node, ast.AugAssign) and isinstance(node.value, (ast.List, ast.Tuple)):
        return _parts([node.value])
    return []


def _parts(values: list[ast.expr]) -> list[ast.expr]:
    """What displays, conditions and sums of containers consist of."""
    found: list[ast.expr] = []
    for value in values:
        if isinstance(value, (ast.Tuple, ast.List, ast.Set)):
            found += _parts(value.elts)
        elif isinstance(value, ast.Dict):
            found += _parts(value.values)
        elif isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.BitOr)):
            found += _parts([side for side in (value.left, value.right) if not isinstance(side, ast.Name)])
        elif isinstance(value, ast.IfExp):
            found += _parts([value.body, value.orelse])
        elif isinstance(value, ast.Starred):
            found += _parts([value.value])
        elif isinstance(value, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
            found += _parts([value.elt])
        elif isinstance(value, ast.DictComp):
            found += _parts([value.value])
        else:
            found.append(value)
    return found
