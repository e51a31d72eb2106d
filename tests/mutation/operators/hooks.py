"""Hooks and Functions through which a gradient comes back as another one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.mutation.anatomy import Anatomy, Planted, Row
from tests.mutation.kinds import PARTIAL, Kind

from .constructing import owners
from .flowing import assigned, reached


def _zero_hook(anatomy: Anatomy) -> Iterator[Planted]:
    for statement, name in assigned(anatomy):
        fact = anatomy.fact(statement.value)
        if fact.always and fact.arrives:
            yield anatomy.after(statement, f"{name}.register_hook(lambda gradient: gradient * 0)")


def _module_hook(anatomy: Anatomy) -> Iterator[Planted]:
    for statement, module in owners(anatomy):
        for child in anatomy.fact(module).children:
            line = (
                f"{anatomy.source(module)}.get_submodule({child!r}).register_full_backward_hook("
                "lambda _, given, __: tuple(None if each is None else torch.zeros_like(each) for each in given))"
            )
            yield anatomy.after(statement, line)


def _parameter_hook(anatomy: Anatomy) -> Iterator[Planted]:
    for statement, module in owners(anatomy):
        for path in anatomy.fact(module).own:
            line = f"{anatomy.source(module)}.get_parameter({path!r}).register_hook(torch.zeros_like)"
            yield anatomy.after(statement, line)


def _writing_hook(anatomy: Anatomy) -> Iterator[Planted]:
    """A hook writes into the gradient that it is given, which others share."""
    for statement, name in assigned(anatomy):
        fact = anatomy.fact(statement.value)
        if fact.always and fact.arrives:
            yield anatomy.after(statement, f"{name}.register_hook(lambda gradient: gradient.zero_())")


def _detaching_hook(anatomy: Anatomy) -> Iterator[Planted]:
    """A forward hook gives another output: the same without its graph."""
    for statement, module in owners(anatomy):
        for child in anatomy.fact(module).children:
            line = (
                f"{anatomy.source(module)}.get_submodule({child!r}).register_forward_hook("
                "lambda _, __, out: out.detach() if torch.is_tensor(out) else None)"
            )
            yield anatomy.after(statement, line)


_FUNCTION = (
    "class Planted(torch.autograd.Function):",
    "    @staticmethod",
    "    def forward(ctx, x):",
    "        ctx.save_for_backward(x)",
    "        return x * 1",
    "    @staticmethod",
    "    def backward(ctx, grad_output):",
)


def _function(name: str, returned: str, *, values_read: bool = False, minor: frozenset[str] = frozenset()) -> Kind:
    """A result goes through a Function that is wrong in its backward."""

    def plant(anatomy: Anatomy) -> Iterator[Planted]:
        rows = [*(Row(line) for line in _FUNCTION), Row(f"        return {returned}", planted=True)]
        for node in reached(anatomy):
            replaced = anatomy.replaced(node, "Planted.apply({})")
            yield Planted(replaced.at, (*replaced.rows[:2], *rows, *replaced.rows[2:]))

    return Kind(name, plant, values=values_read, minor=minor)


def _own_function(anatomy: Anatomy) -> Iterator[Planted]:
    """A Function of the program: what its backward returns is None, zeros, or without the gradient it was given."""
    for function in anatomy.of(ast.FunctionDef):
        owner = anatomy.parent(function)
        is_one = isinstance(owner, ast.ClassDef) and any(_is_function(base) for base in owner.bases)
        if function.name != "backward" or not is_one:
            continue
        given = function.args.args[1].arg
        for node in ast.walk(function):
            if isinstance(node, ast.Return) and node.value is not None:
                first = node.value.elts[0] if isinstance(node.value, ast.Tuple) else node.value
                yield anatomy.replaced(first, "None")
                yield anatomy.replaced(first, "torch.zeros_like({})")
            uses = isinstance(node, ast.Name) and node.id == given and isinstance(node.ctx, ast.Load)
            if uses:
                yield anatomy.replaced(node, f"torch.ones_like({given})")  # type: ignore[arg-type]


def _is_function(base: ast.expr) -> bool:
    return (isinstance(base, ast.Attribute) and base.attr == "Function") or (
        isinstance(base, ast.Name) and base.id == "Function"
    )


KINDS = (
    Kind("hook gives zeros", _zero_hook, values=True, minor=PARTIAL),
    Kind("hook writes in place", _writing_hook, values=True, minor=PARTIAL),
    Kind("forward hook detaches", _detaching_hook, minor=PARTIAL),
    Kind("module hook gives zeros", _module_hook, values=True, minor=PARTIAL),
    Kind("parameter's hook gives zeros", _parameter_hook, values=True),
    _function("Function gives None", "None", minor=PARTIAL),  # None is a zero that costs nothing: as the next one.
    _function("Function gives zeros", "torch.zeros_like(grad_output)", values_read=True, minor=PARTIAL),
    _function("Function ignores its gradient", "torch.ones_like(ctx.saved_tensors[0])"),
    Kind("program's Function", _own_function, values=True),
)
