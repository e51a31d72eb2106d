"""The optimizer holds other parameters than those that are trained."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.mutation.anatomy import Anatomy, Planted
from tests.mutation.kinds import Kind

from .constructing import bound, owners, parameters, together


def _left_out(anatomy: Anatomy) -> Iterator[Planted]:
    """Two tensors of a module, or all of them."""
    for _, call in parameters(anatomy):
        assert isinstance(call.func, ast.Attribute)
        if len(anatomy.fact(call.func.value).own) > 2:
            yield anatomy.replaced(call, "list({})[:-2]")
        if isinstance(anatomy.parent(call), ast.Starred):
            yield anatomy.replaced(call, "()")


def _wrong_copy(anatomy: Anatomy) -> Iterator[Planted]:
    for _, call in parameters(anatomy):
        assert isinstance(call.func, ast.Attribute)
        yield anatomy.replaced(call.func.value, "copy.deepcopy({})")


def _non_leaves(anatomy: Anatomy) -> Iterator[Planted]:
    for made, call in parameters(anatomy):
        if made.args[0] is call:
            yield anatomy.replaced(call, "[each.clone() for each in {}]")


def _twice(anatomy: Anatomy) -> Iterator[Planted]:
    for _, call in parameters(anatomy):
        if not isinstance(anatomy.parent(call), ast.Starred):
            yield anatomy.replaced(call, f"[*{{}}, next(iter({anatomy.source(call)}))]")


def _second_optimizer(anatomy: Anatomy) -> Iterator[Planted]:
    """Another optimizer of the same parameters steps beside the first."""
    made = {anatomy.source(statement.targets[0]): statement for statement, _ in bound(anatomy)}
    held = {id(statement): module for statement, module in owners(anatomy)}
    for call in anatomy.calls("step", "optimizer"):
        assert isinstance(call.func, ast.Attribute)
        name, statement = anatomy.source(call.func.value), anatomy.alone(call)
        if statement is not None and name in made and id(made[name]) in held and together(anatomy, made[name], call):
            construction = anatomy.source(made[name].value)
            yield _both(anatomy, made[name], statement, f"other_{name.replace('.', '_')} = {construction}")


def _both(anatomy: Anatomy, made: ast.stmt, step: ast.stmt, line: str) -> Planted:
    """Two insertions, of which the later one is made first: the lines before it keep their numbers."""
    name = line.partition(" = ")[0]
    stepped = anatomy.after(step, f"{name}.step()")
    row = made.end_lineno or made.lineno
    new = anatomy.after(made, line).rows[row]
    return Planted(row + 1, (*stepped.rows[:row], new, *stepped.rows[row:]))


def _child_replaced(anatomy: Anatomy) -> Iterator[Planted]:
    for statement, module in owners(anatomy):
        for child in anatomy.fact(module).children:
            place = f"{anatomy.source(module)}._modules[{child!r}]"
            if child.isidentifier():
                place = f"{anatomy.source(module)}.{child}"
            yield anatomy.after(statement, f"{place} = copy.deepcopy({place})")


def _parameter_replaced(anatomy: Anatomy) -> Iterator[Planted]:
    for statement, module in owners(anatomy):
        for path in anatomy.fact(module).own:
            owner, _, name = path.rpartition(".")
            place = f"{anatomy.source(module)}.get_submodule({owner!r}).{name}"
            yield anatomy.after(statement, f"{place} = torch.nn.Parameter({place}.detach().clone())")


def _model_copied(anatomy: Anatomy) -> Iterator[Planted]:
    for statement, module in owners(anatomy):
        name = anatomy.source(module)
        yield anatomy.after(statement, f"{name} = copy.deepcopy({name})")


def _made_in_loop(anatomy: Anatomy) -> Iterator[Planted]:
    """The optimizer is made anew in every round of the loop that steps it."""
    made = {name: statement for statement, name in bound(anatomy)}
    for call in anatomy.calls("step", "optimizer"):
        assert isinstance(call.func, ast.Attribute)
        statement = made.get(anatomy.source(call.func.value))
        loops = list(anatomy.around(call, ast.For, ast.While))
        outside = statement is not None and loops and statement not in list(ast.walk(loops[0]))
        if outside and together(anatomy, statement, call):
            yield anatomy.before(loops[0].body[0], anatomy.source(statement))


KINDS = (
    Kind("left out of the optimizer", _left_out),
    Kind("optimizer of a copy", _wrong_copy),
    Kind("optimizer of results", _non_leaves),
    Kind("parameter twice", _twice),
    Kind("second optimizer", _second_optimizer),
    Kind("module replaced", _child_replaced),
    Kind("parameter replaced", _parameter_replaced),
    Kind("model copied", _model_copied),
    Kind("optimizer made in the loop", _made_in_loop),
)
