"""Names that are read where nothing may have bound them yet: what an edit must bring none of."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterable, Iterator

from autograd_inspector.source.index import Function

Read = tuple[str, str]
"""The function, by its names from the module on, and the name that it reads."""

_Bound = frozenset[str]
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def unbound_reads(tree: ast.Module, apart_from: Collection[ast.stmt] = ()) -> set[Read]:
    """The names that are read before each way there has bound them.

    A loop is taken to run once at least, a ``try`` to go well. What a function reads of the scopes around it may be
    bound anywhere in them: when it is called is not known. ``apart_from``: statements of the module, functions and
    classes among which are not looked into.
    """
    nodes = list(ast.walk(tree))
    declared = {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
    known = frozenset(vars(builtins)) | {"__file__", "__name__"} | declared
    reads = _Reads(walrus=any(isinstance(node, ast.NamedExpr) for node in nodes))
    _Scope("", tree.body, frozenset(), known, reads, apart_from=frozenset(apart_from))
    return set(reads)


def names_bound(tree: ast.Module) -> _Bound:
    """The names that the statements of a module bind, apart from what its functions declare as global."""
    return frozenset(name for node in _own(tree.body) for name in _binds(node))


class _Reads(set[Read]):
    """What was found so far. ``walrus``: some expression of the module binds a name (``:=``), which few do."""

    def __init__(self, *, walrus: bool) -> None:
        super().__init__()
        self.walrus = walrus


class _Scope:
    """One function, class or module, followed from its first statement to its last."""

    def __init__(
        self,
        path: str,
        body: list[ast.stmt],
        given: _Bound,
        around: _Bound,
        reads: _Reads,
        inner: _Bound | None = None,
        apart_from: frozenset[ast.stmt] = frozenset(),
    ) -> None:
        self.path, self.around, self.reads, self.apart_from = path, around, reads, apart_from
        nodes = list(_own(body))
        elsewhere = {n for s in nodes if isinstance(s, (ast.Global, ast.Nonlocal)) for n in s.names}
        self.own = (frozenset(name for node in nodes for name in _binds(node)) | given) - elsewhere
        self.within = around | self.own | elsewhere
        # Methods do not see the names of their class.
        self.inner = self.within if inner is None else inner
        self.block(body, given)

    def block(self, body: Iterable[ast.stmt], bound: _Bound | None) -> _Bound | None:
        """What is bound behind the statements; None where nothing gets there."""
        for statement in body:
            if bound is None:
                return None
            bound = self.statement(statement, bound)
        return bound

    def statement(self, node: ast.stmt, bound: _Bound) -> _Bound | None:  # noqa: C901, PLR0911, PLR0912 - a case a kind
        """What is bound behind a statement."""
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.parts((*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)), bound)
                if node not in self.apart_from:
                    _Scope(f"{self.path}.{node.name}", node.body, _arguments(node.args), self.inner, self.reads)
            case ast.ClassDef():
                self.parts((*node.decorator_list, *node.bases, *(k.value for k in node.keywords)), bound)
                if node not in self.apart_from:
                    around = self.around | bound
                    _Scope(f"{self.path}.{node.name}", node.body, frozenset(), around, self.reads, self.inner)
            case ast.If():
                bound = self.parts([node.test], bound)
                return _both(self.block(node.body, bound), self.block(node.orelse, bound))
            case ast.For() | ast.AsyncFor() | ast.While():
                head = node.test if isinstance(node, ast.While) else node.iter
                inside = self.parts([head], bound) | (
                    frozenset() if isinstance(node, ast.While) else _stored(node.target)
                )
                behind = self.block(node.body, inside)
                return self.block(node.orelse, inside if behind is None else behind)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    bound = self.parts([item.context_expr], bound)
                    bound |= _stored(item.optional_vars) if item.optional_vars else frozenset()
                return self.block(node.body, bound)
            case ast.Try() | ast.TryStar():
                for handler in node.handlers:
                    self.parts(filter(None, [handler.type]), bound)
                    self.block(handler.body, bound | ({handler.name} if handler.name else set()))
                behind = self.block((*node.body, *node.orelse), bound)
                return self.block(node.finalbody, bound if behind is None else behind)
            case ast.Match():
                return self.match(node, self.parts([node.subject], bound))
            case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
                self.parts(ast.iter_child_nodes(node), bound)
                return None
            case ast.Delete():
                return bound - {target.id for target in node.targets if isinstance(target, ast.Name)}
            case ast.AnnAssign():
                self.parts(filter(None, [node.value]), bound)
            case ast.AugAssign(target=ast.Name(id=name)):
                self.read(name, bound)
                self.parts([node.value], bound)
            case _:
                bound = self.parts(ast.iter_child_nodes(node), bound)
        return bound | frozenset(_binds(node))

    def match(self, node: ast.Match, bound: _Bound) -> _Bound | None:
        """What is bound behind any of the cases."""
        behind: _Bound | None = bound
        for number, case in enumerate(node.cases):
            inside = bound | {name for part in ast.walk(case.pattern) for name in _captured(part)}
            inside = self.parts(filter(None, [case.guard]), inside)
            after = self.block(case.body, inside)
            behind = after if number == 0 else _both(behind, after)
        return behind

    def parts(self, nodes: Iterable[ast.AST], bound: _Bound) -> _Bound:
        """Note what expressions read, and return what is bound behind them: ``:=`` binds too."""
        left = list(nodes)
        if self.reads.walrus:
            bound |= {n.target.id for node in left for n in ast.walk(node) if isinstance(n, ast.NamedExpr)}
        for node in left:
            self.expression(node, bound)
        return bound

    def expression(self, node: ast.AST, bound: _Bound) -> None:
        """Note what one expression reads."""
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                self.read(name, bound)
            case ast.Lambda():
                self.parts((*node.args.defaults, *filter(None, node.args.kw_defaults)), bound)
                # It is called later: then all of its scope may be bound.
                self.expression(node.body, bound | self.own | _arguments(node.args))
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                inside = bound.union(*(_stored(part.target) for part in node.generators))
                for part in ast.iter_child_nodes(node):
                    self.expression(part, inside)
            case _:
                for part in ast.iter_child_nodes(node):
                    self.expression(part, bound)

    def read(self, name: str, bound: _Bound) -> None:
        """Note a name that is read, where it may have no value."""
        if name not in bound and (name in self.own or name not in self.within):
            self.reads.add((self.path, name))


def _both(one: _Bound | None, other: _Bound | None) -> _Bound | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other


def _own(body: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    """All that a scope consists of, without what is in the functions and classes within it."""
    left: list[ast.AST] = list(body)
    while left:
        node = left.pop()
        yield node
        if isinstance(node, _COMPREHENSIONS):
            left += (part for part in ast.walk(node) if isinstance(part, ast.NamedExpr))
        elif not isinstance(node, (Function, ast.ClassDef, ast.Lambda)):
            left += ast.iter_child_nodes(node)


def _binds(node: ast.AST) -> Iterator[str]:
    """The names that a node binds by itself, of a simple statement with its targets."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from ((alias.asname or alias.name).split(".")[0] for alias in names)
        case ast.Name(id=name, ctx=ast.Store()):
            yield name
        case ast.ExceptHandler(name=str() as name):
            yield name
        case ast.Assign(targets=targets):
            yield from (name for target in targets for name in _stored(target))
        case ast.AnnAssign(target=target, value=ast.expr()) | ast.AugAssign(target=target):
            yield from _stored(target)
        case _:
            yield from _captured(node)


def _captured(node: ast.AST) -> Iterator[str]:
    """What a pattern gives a name."""
    match node:
        case ast.MatchAs(name=str() as name) | ast.MatchStar(name=str() as name) | ast.MatchMapping(rest=str() as name):
            yield name


def _stored(target: ast.expr) -> _Bound:
    return frozenset(n.id for n in ast.walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def _arguments(arguments: ast.arguments) -> _Bound:
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
    return frozenset(each.arg for each in every if each is not None)
