"""The other form that torch has for the same: a method for a function, a block for a decorator, `add_` for `+=`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from random import Random

from .scopes import Function, functions, standing_for

_METHODS = frozenset({
    "relu", "sigmoid", "tanh", "exp", "log", "sqrt", "abs", "square", "sin", "cos", "log1p", "clamp", "softmax",
    "log_softmax", "logsumexp", "sum", "mean", "cumsum", "flatten", "matmul", "mm", "bmm",
})  # fmt: skip
"""Functions of `torch` and `torch.nn.functional` that tensors have as methods, with the same arguments."""
_NEEDS_DIM = frozenset({"softmax", "log_softmax", "logsumexp"})
_IN_PLACE = {ast.Add: "add_", ast.Sub: "sub_", ast.Mult: "mul_", ast.Div: "div_"}
_OPERATORS = {"add_": "iadd", "sub_": "isub", "mul_": "imul", "div_": "itruediv"}
_AUGMENTED = {name: operator for operator, name in _IN_PLACE.items()}
_CLEAR = """
if type({0}).zero_grad is __import__('torch').optim.Optimizer.zero_grad:
    for group_of_it in {0}.param_groups:
        for parameter_of_it in group_of_it['params']:
            parameter_of_it.grad = None
else:
    {0}.zero_grad()
"""
_SWITCHED = """
recorded_before = torch.is_grad_enabled()
torch.set_grad_enabled(False)
try:
    pass
finally:
    torch.set_grad_enabled(recorded_before)
"""


def as_methods(tree: ast.Module, _random: Random) -> ast.Module:
    """`F.relu(x)` and `torch.exp(x)` become `x.relu()` and `x.exp()`."""
    _Binding().visit(tree)
    return tree


def in_place_calls(tree: ast.Module, _random: Random) -> ast.Module:
    """`x += y` becomes `x = x.add_(y)`, where `x` is a tensor."""
    _Calling().visit(tree)
    return tree


def augmented(tree: ast.Module, _random: Random) -> ast.Module:
    """`p.sub_(update)` becomes `p -= update`."""
    for function in functions(tree):
        augmenting = _Augmenting(_local(function))
        function.body = [augmenting.visit(statement) for statement in function.body]
    return tree


def backward_called(tree: ast.Module, _random: Random) -> ast.Module:
    """`loss.backward()` becomes `torch.autograd.backward(loss)`."""
    for node in [*ast.walk(tree)]:
        match node:
            case ast.Expr(ast.Call(ast.Attribute(ast.Name(name), "backward"), [], keywords) as call) if all(
                each.arg in {"retain_graph", "create_graph", "inputs"} for each in keywords
            ):
                made = ast.parse(
                    f"__import__('torch').autograd.backward({name}) "
                    f"if isinstance({name}, __import__('torch').Tensor) else {name}.backward()",
                    mode="eval",
                ).body
                assert isinstance(made, ast.IfExp)
                for each in (made.body, made.orelse):
                    assert isinstance(each, ast.Call)
                    each.keywords = call.keywords
                node.value = made
    return tree


def cleared_by_hand(tree: ast.Module, _random: Random) -> ast.Module:
    """`optimizer.zero_grad()` becomes `p.grad = None` for each parameter of its groups."""
    _Clearing().visit(tree)
    return tree


def in_decorators(tree: ast.Module, _random: Random) -> ast.Module:
    """A function that is all one `with torch.no_grad():` is decorated with it instead, and the other way round."""
    for function in functions(tree):
        if any(isinstance(node, ast.Yield | ast.YieldFrom | ast.Await) for node in ast.walk(function)):
            continue
        docstring = 1 if ast.get_docstring(function) is not None else 0
        match function.decorator_list, function.body[docstring:]:
            case [*others], [ast.With([ast.withitem(call, None)]) as block] if _is_no_grad(call):
                function.decorator_list = [*others, call]
                function.body[docstring:] = block.body
                function.original = block.original  # type: ignore[attr-defined]
            case [*others, call], body if body and _is_no_grad(call):
                function.decorator_list = others
                block = ast.With([ast.withitem(call, None)], body)
                function.body[docstring:] = [standing_for(function, block)]
    return tree


def switched(tree: ast.Module, _random: Random) -> ast.Module:
    """`with torch.no_grad():` becomes `torch.set_grad_enabled(False)`, put back in a `finally`."""
    _Switching().visit(tree)
    return tree


def _is_no_grad(node: ast.AST) -> bool:
    match node:
        case ast.Call(ast.Attribute(ast.Name("torch"), "no_grad"), [], []):
            return True
    return False


def _local(function: Function) -> set[str]:
    """Parameters and variables of the function itself."""
    return {arg.arg for arg in function.args.args} | {*_stored(function.body)}


def _stored(nodes: list[ast.stmt]) -> Iterator[str]:
    todo: list[ast.AST] = [*nodes]
    for node in todo:  # It grows on the way.
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        if not isinstance(node, Function | ast.Lambda | ast.ClassDef | ast.comprehension):
            todo += ast.iter_child_nodes(node)


class _Binding(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        match node:
            case ast.Call(ast.Attribute(ast.Name("torch" | "F"), name), [first, *others], keywords) if (
                name in _METHODS
                and not any(isinstance(each, ast.Starred) for each in node.args)
                and all(each.arg not in {None, "inplace", "input", "out"} for each in keywords)
                and (name not in _NEEDS_DIM or others or any(each.arg == "dim" for each in keywords))
            ):
                return ast.Call(ast.Attribute(first, name, ast.Load()), others, keywords)
        return node


class _Calling(ast.NodeTransformer):
    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        name = _IN_PLACE.get(type(node.op))
        if name is None or not isinstance(node.target, ast.Name):
            return node
        own, other = node.target.id, _OPERATORS[name]
        made = ast.parse(
            f"{own} = {own}.{name}() if isinstance({own}, __import__('torch').Tensor) "
            f"else __import__('operator').{other}({own})"
        ).body[0]
        assert isinstance(made, ast.Assign)
        assert isinstance(made.value, ast.IfExp)
        for call in (made.value.body, made.value.orelse):
            assert isinstance(call, ast.Call)
            call.args.append(node.value)
        return standing_for(node, made)


class _Augmenting(ast.NodeTransformer):
    def __init__(self, local: set[str]) -> None:
        self._local = local

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node  # It has its own turn, and variables of its own.

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AsyncFunctionDef:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        match node.value:
            case ast.Call(ast.Attribute(ast.Name(name), method), [ast.expr() as value], []) if (
                name in self._local and method in _AUGMENTED and not isinstance(value, ast.Starred)
            ):
                return standing_for(node, ast.AugAssign(ast.Name(name, ast.Store()), _AUGMENTED[method](), value))
        return node


class _Clearing(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        match node.value:
            case ast.Call(ast.Attribute(ast.Name() | ast.Attribute() as owner, "zero_grad"), [], []):
                return standing_for(node, ast.parse(_CLEAR.format(ast.unparse(owner))).body[0])
        return node


class _Switching(ast.NodeTransformer):
    def visit_With(self, node: ast.With) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        match node.items:
            case [ast.withitem(call, None)] if _is_no_grad(call):
                made = [standing_for(node, each) for each in ast.parse(_SWITCHED).body]
                assert isinstance(made[-1], ast.Try)
                made[-1].body = node.body
                return made
        return node
