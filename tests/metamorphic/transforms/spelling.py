"""The same calls, spelled otherwise: functions for methods, keywords for positions, `while` for `for`, a lambda."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from random import Random

from .scopes import functions

_METHODS = frozenset({
    "detach", "exp", "log", "tanh", "sigmoid", "relu", "sqrt", "matmul", "pow", "clamp", "abs", "square", "softmax",
})  # fmt: skip
"""Methods of tensors that `torch` has as functions; what else has a method of that name is a tensor nearly always."""
_KEYWORDS = {
    **dict.fromkeys(
        ("mse_loss", "l1_loss", "smooth_l1_loss", "cross_entropy", "nll_loss", "binary_cross_entropy",
         "binary_cross_entropy_with_logits", "kl_div"),
        ("input", "target"),
    ),
    **dict.fromkeys(("SGD", "Adam", "AdamW", "RMSprop", "Adagrad"), ("params",)),
    **dict.fromkeys(("clip_grad_norm_",), ("parameters", "max_norm")),
    **dict.fromkeys(("clip_grad_value_",), ("parameters", "clip_value")),
}  # fmt: skip


def as_functions(tree: ast.Module, _random: Random) -> ast.Module:
    """`x.detach()` becomes `torch.detach(x)`."""
    if any(alias.name == "torch" and not alias.asname for alias in _imported(tree)):
        _Unbinding().visit(tree)
    return tree


def with_keywords(tree: ast.Module, _random: Random) -> ast.Module:
    """`F.mse_loss(out, y)` becomes `F.mse_loss(input=out, target=y)`."""
    _Naming().visit(tree)
    return tree


def while_loops(tree: ast.Module, _random: Random) -> ast.Module:
    """`for x in xs: body` becomes `rest = iter(xs)` and `while True: try: x = next(rest) …; body`."""
    for number, function in enumerate([*functions(tree)]):
        _Unrolling(f"rest_{number}").visit(function)
    return tree


def in_lambdas(tree: ast.Module, _random: Random) -> ast.Module:
    """`loss.backward()` becomes `(lambda: loss.backward())()`."""
    for function in functions(tree):
        for node in ast.walk(function):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and not _special(node.value):
                inner = ast.Lambda(ast.arguments([], [], None, [], [], None, []), node.value)
                node.value = ast.Call(inner, [], [])
    return tree


def _imported(tree: ast.Module) -> Iterator[ast.alias]:
    return (alias for node in tree.body if isinstance(node, ast.Import) for alias in node.names)


def _special(call: ast.Call) -> bool:
    """Whether it means something else in a function of its own: `super()` does, and what waits or binds a name."""
    return any(
        isinstance(node, ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr)
        or (isinstance(node, ast.Name) and node.id in {"super", "locals", "__class__"})
        for node in ast.walk(call)
    )


class _Unbinding(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        match node.func:
            case ast.Attribute(ast.Name("torch" | "F" | "nn" | "np" | "math" | "self")):
                return node
            case ast.Attribute(value, name) if name in _METHODS and not _module(value) and _takes(name, node):
                node.func = ast.Attribute(ast.Name("torch", ast.Load()), name, ast.Load())
                node.args.insert(0, value)
        return node


def _takes(name: str, call: ast.Call) -> bool:
    """`logger.log(step, loss)` is no tensor's method, for that one has no arguments."""
    return name in {"matmul", "pow", "clamp", "softmax"} or not (call.args or call.keywords)


def _module(value: ast.expr) -> bool:
    """`torch.special.exp`: what is before the name is a module."""
    return isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name) and value.value.id in {"torch", "nn"}


class _Naming(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        keywords = _KEYWORDS.get(node.func.attr, ()) if isinstance(node.func, ast.Attribute) else ()
        while keywords and 0 < len(node.args) <= len(keywords) and not isinstance(node.args[-1], ast.Starred):
            node.keywords.insert(0, ast.keyword(keywords[len(node.args) - 1], node.args.pop()))
        return node


class _Unrolling(ast.NodeTransformer):
    def __init__(self, rest: str) -> None:
        self._rest = rest
        self._count = 0

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        if node.orelse:
            return node
        self._count += 1
        rest = f"{self._rest}_{self._count}"
        before, loop = ast.parse(
            f"{rest} = iter(0)\n"
            f"while True:\n    try:\n        x = next({rest})\n    except StopIteration:\n        break"
        ).body
        assert isinstance(before, ast.Assign)
        assert isinstance(before.value, ast.Call)
        assert isinstance(loop, ast.While)
        before.value.args = [node.iter]
        [tried] = loop.body
        assert isinstance(tried, ast.Try)
        [taken] = tried.body
        assert isinstance(taken, ast.Assign)
        taken.targets = [node.target]
        for made in (before, taken):
            made.original = node.original  # type: ignore[attr-defined]
        loop.body += node.body
        return [before, loop]
