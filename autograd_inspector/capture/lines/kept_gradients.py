"""Where the source keeps a `.grad` under a name or in a container, instead of using it at once.

What keeps it is plain Python, which nothing shows while the program runs: it is read off the text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType

from autograd_inspector.capture.lines.cells import cell_at
from autograd_inspector.capture.lines.sources import compiled, scope_of, tree_of
from autograd_inspector.capture.lines.stacks import Stacks
from autograd_inspector.capture.tape import Tape
from autograd_inspector.model.event import GradientKept, Lines

_INNER = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp)
_DISPLAYS = (ast.List, ast.Tuple, ast.Set, ast.Starred)
_GATHERING = {"list", "tuple", "dict", "zip", "deque", "OrderedDict"}
_SAME_MEMORY = {"detach", "view", "view_as", "flatten", "ravel", "reshape"}
_GROWING = {"append", "appendleft", "extend", "insert"}
_SHRINKING = {"clear", "pop", "popleft", "popitem", "remove"}
Parents = dict[ast.AST, ast.AST]


def kept_gradients(tape: Tape) -> Iterator[GradientKept]:
    """One record for each site that keeps a gradient which a later backward adds to."""
    stale = {tensor for run in tape.backwards for tensor in run.stale}
    sites = dict.fromkeys(r.site for r in tape.grad_reads if r.gradient >= 0 and r.tensor in stale and r.leaf)
    for site in sites:
        kept = _kept(tape.stacks, site)
        if kept is not None:
            yield kept


def _kept(stacks: Stacks, site: int) -> GradientKept | None:
    chain = [(code, lasti) for code, lasti, library in stacks.chains[site] if not library]
    if len(chain) != len(stacks.chains[site]):
        return None  # A library reads gradients for its own ends.
    while chain:
        code, lasti = chain[0]
        tree = tree_of(code.co_filename)
        read = None if tree is None else _expression(tree, code, lasti)
        if tree is None or read is None:
            return None
        parents = _parents(tree)
        value = _gathered(read, parents)
        statement = parents[value]
        if not isinstance(statement, ast.Return):
            return _stored(site, code.co_filename, tree, value, parents)
        while chain and chain[0][0].co_name in _INNER:
            chain.pop(0)
        chain = chain[1:]
    return None


def _expression(tree: ast.Module, code: CodeType, lasti: int) -> ast.expr | None:
    here = compiled(code, lasti, library=False)
    span = (here.lineno, here.end_lineno, here.column, here.end_column)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Attribute, ast.Call)) and span == (
            node.lineno,
            node.end_lineno,
            node.col_offset,
            node.end_col_offset,
        ):
            return node
    return None


@lru_cache(maxsize=32)
def _parents(tree: ast.Module) -> Parents:
    return {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}


def _gathered(node: ast.AST, parents: Parents) -> ast.AST:
    """The largest expression around it that still holds the very gradient: a list of them, a view of it."""
    while True:
        parent = parents[node]
        within = (
            (isinstance(parent, ast.Attribute) and parent.attr == "data")
            or (isinstance(parent, ast.IfExp) and node is not parent.test)
            or isinstance(parent, _DISPLAYS)
            or (isinstance(parent, _COMPREHENSIONS) and node is parent.elt)
            or (isinstance(parent, (ast.DictComp)) and node is parent.value)
            or (isinstance(parent, ast.Dict) and node in parent.values)
            or (isinstance(parent, ast.Call) and _called(parent) in _GATHERING and node in parent.args)
        )
        if within:
            node = parent
        elif isinstance(parent, ast.Attribute) and parent.attr in _SAME_MEMORY and _is_call(parents[parent], parent):
            node = parents[parent]
        else:
            return node


def _is_call(node: ast.AST, function: ast.AST) -> bool:
    return isinstance(node, ast.Call) and node.func is function


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _stored(site: int, filename: str, tree: ast.Module, value: ast.AST, parents: Parents) -> GradientKept | None:
    statement = parents[value]
    match statement:
        case ast.Assign(targets=[ast.Subscript(value=ast.Name() | ast.Attribute() as container, slice=key)]):
            return _named(site, filename, tree, container, _growth(statement, container, key, parents))
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target]) | ast.AnnAssign(target=target):
            return _named(site, filename, tree, target)
        case ast.AugAssign(target=ast.Name() as container, op=ast.Add()) if isinstance(value, (ast.List, ast.ListComp)):
            return _named(site, filename, tree, container, _growth(statement, container, None, parents))
        case ast.Call(func=ast.Attribute(value=ast.Name() as container, attr=how)) if how in _GROWING:
            return _named(site, filename, tree, container, _growth(statement, container, None, parents))
    return None


def _growth(node: ast.AST, container: ast.expr, key: ast.expr | None, parents: Parents) -> ast.stmt | None:
    """The outermost loop in which the container only grows: it is made, emptied and shortened outside of it.

    Of an attribute other functions may do that.
    """
    best: ast.stmt | None = None
    name = container.id if isinstance(container, ast.Name) else ""
    while name and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module, ast.Lambda)):
        if isinstance(node, (ast.For, ast.While)):
            if any(_resets(inner, name) for inner in ast.walk(node)):
                break
            if key is None or (isinstance(node, ast.For) and _names(node.target) & _names(key)):
                best = node
        node = parents[node]
    return best


def _names(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _resets(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Name(id=found, ctx=ast.Store() | ast.Del()):
            return found == name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=found), attr=how)) if how in _SHRINKING:
            return found == name
        case ast.Subscript(value=ast.Name(id=found), ctx=ast.Del()):
            return found == name
        case ast.Subscript(value=ast.Name(id=found), slice=ast.Slice(), ctx=ast.Store()):
            return found == name
    return False


def _named(
    site: int, filename: str, tree: ast.Module, target: ast.expr, growing: ast.stmt | None = None
) -> GradientKept:
    """Kept as a variable; and under the other names that the variable is given (``previous = current`` at the end)."""
    scope = scope_of(tree, target.lineno) if isinstance(target, ast.Name) else tree
    name = ast.unparse(target)
    later = {
        ast.unparse(node.targets[0]): node.lineno
        for node in ast.walk(scope)
        if isinstance(node, ast.Assign) and ast.unparse(node.value) == name
    }
    uses = tuple(_lines(filename, node) for node in _mentions(scope, name))
    # A name that is given before it is used is one more for the same round: `direction = gradient`.
    renamed = tuple(
        _lines(filename, node)
        for other, line in later.items()
        for node in _mentions(scope, other)
        if (node.end_lineno or line) < line
    )
    loops = () if growing is None else (_lines(filename, growing),)
    return GradientKept(site, name, loops, uses, renamed)


def _mentions(scope: ast.AST, name: str) -> Iterator[ast.stmt]:
    """Statements that read a variable; a loop over it as a whole."""
    for node in ast.walk(scope):
        if isinstance(node, ast.For):
            parts: list[ast.AST] = [node.iter]
        elif isinstance(node, ast.stmt) and not hasattr(node, "body"):
            parts = [node]
        else:
            continue
        read = {
            ast.unparse(inner)
            for part in parts
            for inner in ast.walk(part)
            if isinstance(inner, (ast.Name, ast.Attribute)) and isinstance(inner.ctx, ast.Load)
        }
        if name in read:
            yield node


def _lines(filename: str, node: ast.stmt) -> Lines:
    """The lines of a statement, as the editor's gutter numbers them."""
    first, last = node.lineno, node.end_lineno or node.lineno
    cell = cell_at(filename)
    return Lines(filename, first, last) if cell is None else Lines(filename, cell.gutter(first), cell.gutter(last))
