"""Writes in place, where autograd sees them and where it does not."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.mutation.anatomy import Anatomy, Planted
from tests.mutation.effects import CHANGES, STARVES
from tests.mutation.kinds import Kind

from .flowing import values

SEEN = frozenset({CHANGES})
"""Autograd sees the write: if that does not raise, the gradients are those of what is now computed."""
_ACTIVATIONS = {"relu", "sigmoid", "tanh"}
_METHODS = {"add", "mul", "sub", "div", "clamp", "masked_fill", "exp", "sqrt", "pow", "abs", "log"}


def _arguments(anatomy: Anatomy) -> Iterator[tuple[ast.Name, ast.stmt]]:
    """The names of results from which a statement computes something differentiable, and the statement."""
    seen = set()
    for node in values(anatomy):
        statement = anatomy.statement(node)
        if (
            isinstance(node, ast.Name)
            and isinstance(statement, ast.Assign)
            and (statement, node.id) not in seen
            and anatomy.named_there(node)
        ):
            bound = {each.id for target in statement.targets for each in ast.walk(target) if isinstance(each, ast.Name)}
            if node.id not in bound:
                seen.add((statement, node.id))
                yield node, statement


def _behind(name: str, template: str, *, dims: int = 0, sound: frozenset[str] = frozenset()) -> Kind:
    def plant(anatomy: Anatomy) -> Iterator[Planted]:
        for node, statement in _arguments(anatomy):
            fact = anatomy.fact(node)
            if fact.dtype == "float32" and fact.dim >= dims:
                yield anatomy.after(statement, template.replace("{}", node.id))

    return Kind(name, plant, sound=sound)


def _activation(anatomy: Anatomy) -> Iterator[Planted]:
    """`relu` becomes `relu_`: as a method, a function of torch's, and a module."""
    for call, fact in anatomy.evaluated():
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        if (
            call.func.attr in _ACTIVATIONS
            and fact.kind == "tensor"
            and fact.differentiable
            and not anatomy.fact(call.func).kind
        ):
            yield anatomy.replaced(call.func, f"{anatomy.source(call.func)}_")
        elif call.func.attr in {"ReLU", "SiLU", "ELU", "LeakyReLU"} and fact.kind == "module" and not call.keywords:
            yield anatomy.replaced(call, f"{anatomy.source(call)[:-1]}{', ' * bool(call.args)}inplace=True)")


def _underscore_added(anatomy: Anatomy) -> Iterator[Planted]:
    """`x.masked_fill(mask, value)` becomes `x.masked_fill_(mask, value)`."""
    for call, fact in anatomy.evaluated():
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _METHODS:
            receiver = anatomy.fact(call.func.value)
            if fact.kind == receiver.kind == "tensor" and receiver.differentiable and fact.dtype == receiver.dtype:
                yield anatomy.replaced(call.func, f"{anatomy.source(call.func)}_")


def _augmented(anatomy: Anatomy) -> Iterator[Planted]:
    """`x = x + y` becomes `x += y`."""
    operators = {ast.Add: "+=", ast.Mult: "*=", ast.Sub: "-=", ast.Div: "/="}
    for statement in anatomy.of(ast.Assign):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp(left=ast.Name(id=left), op=op, right=right)):
                fact = anatomy.fact(statement.value)
                if name == left and type(op) in operators and fact.kind == "tensor" and fact.differentiable:
                    line = f"{anatomy.indent(statement)}{name} {operators[type(op)]} {anatomy.source(right)}"
                    yield anatomy.edited(statement.lineno, statement.lineno, [line])


def _on_leaf(anatomy: Anatomy) -> Iterator[Planted]:
    """A parameter is written to while gradients are recorded."""
    for node in _modules_called(anatomy):
        names = anatomy.fact(node.func).own
        if names and isinstance(node.func, ast.Name | ast.Attribute):
            statement = anatomy.statement(node)
            if isinstance(statement, ast.Assign | ast.Return) and anatomy.fact(node).differentiable:
                module = anatomy.source(node.func)
                yield anatomy.before(statement, f"{module}.get_parameter({names[0]!r}).mul_(0.9)")


def _weights_between(template: str) -> Kind:
    """The weights are written to between the forward and the backward."""

    def plant(anatomy: Anatomy) -> Iterator[Planted]:
        for node in _modules_called(anatomy):
            statement = anatomy.statement(node)
            names = anatomy.fact(node.func).own
            keeps = anatomy.fact(node.func).type in {"Linear", "Conv2d"}  # For the gradient of what it is given.
            given = bool(node.args) and anatomy.fact(node.args[0]).differentiable
            if names and isinstance(statement, ast.Assign) and keeps and given:
                module = anatomy.source(node.func)
                yield anatomy.after(statement, template.format(f"{module}.get_parameter({names[0]!r})"))

    return Kind("weights written unseen", plant)


def _modules_called(anatomy: Anatomy) -> Iterator[ast.Call]:
    for node, _ in anatomy.evaluated():
        if isinstance(node, ast.Call) and anatomy.fact(node.func).kind == "module" and anatomy.named_there(node):
            yield node


KINDS = (
    _behind("method in place", "{}.mul_(0.5)", sound=SEEN),
    _behind("augmented in place", "{} += 1", sound=SEEN),
    _behind("slice assigned", "{}[..., :1] = 0", dims=1, sound=SEEN),
    _behind("written through data", "{}.data.mul_(0.5)"),
    _behind("written through numpy", "{}.detach().numpy()[...] = 0.5"),
    Kind("activation in place", _activation, sound=SEEN),
    Kind("underscore added", _underscore_added, sound=SEEN | {STARVES}),
    Kind("sum in place", _augmented, sound=SEEN),
    Kind("leaf in place", _on_leaf),
    _weights_between("{}.data.mul_(0.5)"),
)
