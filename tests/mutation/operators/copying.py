"""What should be written into a tensor is bound, shared or dropped instead, or a module's parts are copies."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.mutation.anatomy import Anatomy, Planted
from tests.mutation.kinds import PARTIAL, Kind

from .constructing import owners


def _written(anatomy: Anatomy) -> Iterator[tuple[ast.Expr, ast.Call]]:
    """The statements that write into a leaf, and nothing else."""
    for call, fact in anatomy.evaluated():
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and fact.kind == "tensor":
            statement = anatomy.alone(call)
            receiver = anatomy.fact(call.func.value)
            writes = call.func.attr.endswith("_") and not call.func.attr.startswith(("_", "requires_grad"))
            if isinstance(statement, ast.Expr) and writes and receiver.kind == "tensor" and receiver.floating:
                yield statement, call


def _copies(anatomy: Anatomy) -> Iterator[tuple[ast.Expr, ast.expr, ast.expr]]:
    """`p.copy_(q)`: the statement, p and q; of `p.data.copy_(q.data)` too."""
    for statement, call in _written(anatomy):
        match call:
            case ast.Call(func=ast.Attribute(attr="copy_", value=target), args=[source]):
                inner = target.value if isinstance(target, ast.Attribute) and target.attr == "data" else target
                if anatomy.fact(inner).parameter:
                    yield statement, inner, source


def _shared(anatomy: Anatomy) -> Iterator[Planted]:
    """`p.data = q.data`: one memory for both."""
    for statement, target, source in _copies(anatomy):
        if anatomy.fact(source).leaf:
            plain = anatomy.source(source).removesuffix(".data")
            yield _instead(anatomy, statement, f"{anatomy.source(target)}.data = {plain}.data")


def _rebound(anatomy: Anatomy) -> Iterator[Planted]:
    """`p = q`: only the name changes."""
    for statement, target, source in _copies(anatomy):
        if isinstance(target, ast.Name):
            yield _instead(anatomy, statement, f"{target.id} = {anatomy.source(source)}")


def _underscore_dropped(anatomy: Anatomy) -> Iterator[Planted]:
    """`p.mul_(x)` becomes `p.mul(x)`, whose result nobody takes."""
    for _, call in _written(anatomy):
        assert isinstance(call.func, ast.Attribute)
        receiver = call.func.value
        inner = receiver.value if isinstance(receiver, ast.Attribute) and receiver.attr == "data" else receiver
        if call.func.attr in {"add_", "mul_", "sub_", "div_", "lerp_", "clamp_"} and anatomy.fact(inner).parameter:
            yield anatomy.replaced(call.func, anatomy.source(call.func)[:-1])


def _instead(anatomy: Anatomy, statement: ast.stmt, line: str) -> Planted:
    return anatomy.edited(
        statement.lineno, statement.end_lineno or statement.lineno, [anatomy.indent(statement) + line]
    )


def _module_copied(anatomy: Anatomy) -> Iterator[Planted]:
    """A copy of a module is called: what is made anew in each call learns nothing."""
    for call, fact in anatomy.evaluated():
        if isinstance(call, ast.Call) and anatomy.fact(call.func).own and fact.kind == "tensor" and fact.arrives:
            yield anatomy.replaced(call.func, "copy.deepcopy({})")


def _parameters_used(anatomy: Anatomy) -> Iterator[ast.expr]:
    """Parameters that something differentiable is computed of."""
    for node, fact in anatomy.evaluated():
        parent = anatomy.parent(node)
        made = isinstance(parent, ast.BinOp) or (isinstance(parent, ast.Call) and node in parent.args)
        result = anatomy.fact(parent) if parent is not None else fact
        if made and fact.parameter and fact.always and result.kind == "tensor" and result.arrives:
            yield node


def _parameter_as(name: str, template: str) -> Kind:
    def plant(anatomy: Anatomy) -> Iterator[Planted]:
        return (anatomy.replaced(node, template) for node in _parameters_used(anatomy))

    return Kind(name, plant, minor=PARTIAL)


def _assigned_loading(anatomy: Anatomy) -> Iterator[Planted]:
    """`load_state_dict(assign=True)` puts other parameters in the module than the optimizer has."""
    for statement, module in owners(anatomy):
        name = anatomy.source(module)
        yield anatomy.after(statement, f"{name}.load_state_dict(copy.deepcopy({name}.state_dict()), assign=True)")


KINDS = (
    Kind("shared, not copied", _shared),
    Kind("bound, not copied", _rebound),
    Kind("underscore dropped", _underscore_dropped, always=True),
    Kind("module copied when called", _module_copied),
    _parameter_as("parameter detached", "({}).detach()"),
    _parameter_as("parameter made anew", "torch.nn.Parameter({})"),
    Kind("loaded by assignment", _assigned_loading),
)
