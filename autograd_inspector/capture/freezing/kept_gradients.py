"""Where the source keeps a `.grad` under a name or in a container, instead of using it at once.

What keeps it is plain Python, which nothing shows while the program runs: it is read off the text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import CodeType

from autograd_inspector.capture.lines.cells import cell_at
from autograd_inspector.capture.lines.sources import compiled, source_at, span_at
from autograd_inspector.capture.lines.stacks import Stacks
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.event import GradientKept, Lines
from autograd_inspector.source.index import Source
from autograd_inspector.source.mentions import Mentions
from autograd_inspector.source.resets import Resets

_INNER = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp)
_DISPLAYS = (ast.List, ast.Tuple, ast.Set, ast.Starred)
_GATHERING = {"list", "tuple", "dict", "zip", "deque", "OrderedDict"}
_SAME_MEMORY = {"detach", "view", "view_as", "flatten", "ravel", "reshape"}
_GROWING = {"append", "appendleft", "extend", "insert"}
Parents = dict[ast.AST, ast.AST]


def kept_gradients(recording: Recording) -> Iterator[GradientKept]:
    """One record for each site that keeps a gradient which a later backward adds to."""
    stale = {tensor for run in recording.backwards for tensor in run.stale}
    sites = dict.fromkeys(r.site for r in recording.grad_reads if r.gradient >= 0 and r.tensor in stale and r.leaf)
    for site in sites:
        kept = _kept(recording.stacks, site)
        if kept is not None:
            yield kept


def _kept(stacks: Stacks, site: int) -> GradientKept | None:
    chain = [(code, lasti) for code, lasti, library in stacks.chains[site] if not library]
    if len(chain) != len(stacks.chains[site]):
        return None  # A library reads gradients for its own ends.
    while chain:
        code, lasti = chain[0]
        source = source_at(code.co_filename)
        read = None if source is None else source.expression_at(span_at(compiled(code, lasti, library=False)))
        if source is None or read is None:
            return None
        value = _gathered(read, source.parents)
        if not isinstance(source.parents[value], ast.Return):
            callers = [at for at in chain if at[0].co_name not in _INNER][1:]
            return _stored(site, code.co_filename, source, value, _calls(code.co_filename, source, callers))
        while chain and chain[0][0].co_name in _INNER:
            chain.pop(0)
        chain = chain[1:]
    return None


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


def _calls(filename: str, source: Source, callers: list[tuple[CodeType, int]]) -> list[ast.AST]:
    """The calls in the same file that led to the innermost function."""
    found: list[ast.AST] = []
    for code, lasti in callers:
        call = source.expression_at(span_at(compiled(code, lasti, library=False)))
        if code.co_filename != filename or call is None:
            break
        found.append(call)
    return found


def _stored(site: int, filename: str, source: Source, value: ast.AST, calls: list[ast.AST]) -> GradientKept | None:
    statement = source.parents[value]
    match statement:
        case ast.Assign(targets=[ast.Subscript(value=ast.Name() | ast.Attribute() as container, slice=key)]):
            return _named(site, filename, source, container, _growth(source, statement, container, key, calls))
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target]) | ast.AnnAssign(target=target):
            return _named(site, filename, source, target)
        case ast.AugAssign(target=ast.Name() as container, op=ast.Add()) if isinstance(value, (ast.List, ast.ListComp)):
            return _named(site, filename, source, container, _growth(source, statement, container, None, calls))
        case ast.Call(func=ast.Attribute(value=ast.Name() as container, attr=how)) if how in _GROWING:
            return _named(site, filename, source, container, _growth(source, statement, container, None, calls))
    return None


def _growth(
    source: Source, node: ast.AST, container: ast.expr, key: ast.expr | None, calls: list[ast.AST]
) -> ast.stmt | None:
    """The outermost loop in which the container only grows: it is made, emptied and shortened outside of it.

    Of an attribute other functions may do that. A variable of the function around is followed to where that calls.
    """
    best: ast.stmt | None = None
    name = container.id if isinstance(container, ast.Name) else ""
    outwards = iter(calls)
    while name and not isinstance(node, (ast.ClassDef, ast.Module, ast.Lambda)):
        if isinstance(node, (ast.For, ast.While)):
            if name in source.index(Resets).within(node):
                break
            if key is None or (isinstance(node, ast.For) and _names(node.target) & _names(key)):
                best = node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            reset = name in source.index(Resets).within(node)
            call = None if reset or _binds(node, name) else next(outwards, None)
            if call is None:
                break
            node = call
        node = source.parents[node]
    return best


def _binds(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> bool:
    """Whether the variable is the function's own."""
    inner = list(ast.walk(function))
    if any(isinstance(each, (ast.Nonlocal, ast.Global)) and name in each.names for each in inner):
        return False
    return any(
        (isinstance(each, ast.Name) and each.id == name and not isinstance(each.ctx, ast.Load))
        or (isinstance(each, ast.arg) and each.arg == name)
        for each in inner
    )


def _names(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _named(site: int, filename: str, source: Source, target: ast.expr, growing: ast.stmt | None = None) -> GradientKept:
    """Kept as a variable; and under the other names that the variable is given (``previous = current`` at the end)."""
    scope = source.scope_at(target.lineno) if isinstance(target, ast.Name) else source.tree
    name, mentions = ast.unparse(target), source.index(Mentions)
    later = {ast.unparse(node.targets[0]): node.lineno for node in mentions.renamed(scope, name)}
    uses = tuple(_lines(filename, node) for node in mentions.reading(scope, name))
    # A name that is given before it is used is one more for the same round: `direction = gradient`.
    renamed = tuple(
        _lines(filename, node)
        for other, line in later.items()
        for node in mentions.reading(scope, other)
        if (node.end_lineno or line) < line
    )
    loops = () if growing is None else (_lines(filename, growing),)
    return GradientKept(site, name, loops, uses, renamed)


def _lines(filename: str, node: ast.stmt) -> Lines:
    """The lines of a statement, as the editor's gutter numbers them."""
    first, last = node.lineno, node.end_lineno or node.lineno
    cell = cell_at(filename)
    return Lines(filename, first, last) if cell is None else Lines(filename, cell.gutter(first), cell.gutter(last))
