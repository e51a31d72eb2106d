"""Gradients are not recorded where they should be, or are where they should not."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.mutation.anatomy import Anatomy, Planted, Row
from tests.mutation.kinds import PARTIAL, Kind

from .flowing import reached, values


def _block(head: str) -> Kind:
    def plant(anatomy: Anatomy) -> Iterator[Planted]:
        for node in reached(anatomy):
            statement = anatomy.parent(node)
            if isinstance(statement, ast.Assign | ast.Return):
                yield anatomy.inside(statement, f"with torch.{head}():")

    return Kind(f"{head} block", plant, minor=PARTIAL)


def _decorator(head: str) -> Kind:
    def plant(anatomy: Anatomy) -> Iterator[Planted]:
        seen = set()
        for node in values(anatomy):
            function = next(anatomy.around(node, ast.FunctionDef, ast.Lambda), None)
            returned = isinstance(anatomy.parent(node), ast.Return)
            if returned and isinstance(function, ast.FunctionDef) and function.name != "run" and function not in seen:
                seen.add(function)
                yield anatomy.before(function, f"@torch.{head}()")

    return Kind(f"{head} decorator", plant, minor=PARTIAL)


def _leaked(anatomy: Anatomy) -> Iterator[Planted]:
    for node in values(anatomy):
        statement = anatomy.parent(node)
        if isinstance(statement, ast.Assign):
            yield anatomy.before(statement, "torch.set_grad_enabled(False)")


def _unwrapped(anatomy: Anatomy) -> Iterator[Planted]:
    """`with torch.no_grad()` and `@torch.no_grad()` dropped; the statements that were in it answer for it."""
    for block in anatomy.of(ast.With):
        if len(block.items) == 1 and _is_no_grad(block.items[0].context_expr):
            last = block.end_lineno or 0
            rows = [Row(line[4:], planted=True) for line in anatomy.lines[block.lineno : last]]
            yield anatomy.edited(block.lineno, last, rows)
    for function in anatomy.of(ast.FunctionDef):
        for decorator in function.decorator_list:
            if _is_no_grad(decorator):
                inside = [node for node in ast.walk(function) if isinstance(node, ast.stmt)]
                yield anatomy.edited(decorator.lineno, decorator.lineno, [], also=inside)


def _widened(anatomy: Anatomy) -> Iterator[Planted]:
    """A block without gradients goes on for one statement more."""
    for block in anatomy.of(ast.With):
        if len(block.items) != 1 or not _is_no_grad(block.items[0].context_expr):
            continue
        body = anatomy.body(block)
        later = body[body.index(block) + 1 :][:1]
        for statement in later:
            if isinstance(statement, ast.Assign | ast.Return) and any(
                anatomy.parent(node) is statement for node in reached(anatomy)
            ):
                head = Row(anatomy.lines[block.lineno - 1], planted=True)
                inner = [Row(line) for line in anatomy.lines[block.lineno : block.end_lineno]]
                line = Row("    " + anatomy.lines[statement.lineno - 1], planted=True)
                yield anatomy.edited(block.lineno, statement.end_lineno or statement.lineno, [head, *inner, line])


def _is_no_grad(node: ast.expr) -> bool:
    called = node.func if isinstance(node, ast.Call) else node
    return isinstance(called, ast.Attribute) and called.attr in {"no_grad", "inference_mode"}


KINDS = (
    _block("no_grad"),
    _block("inference_mode"),
    _decorator("no_grad"),
    _decorator("inference_mode"),
    Kind("grad mode leaked", _leaked, minor=PARTIAL),
    Kind("no_grad widened", _widened, minor=PARTIAL),
    Kind("no_grad dropped", _unwrapped, minor=PARTIAL),
)
