"""zero_grad, backward, clip, step: one of them missing, twice, or at the wrong time."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.mutation.anatomy import Anatomy, Planted
from tests.mutation.kinds import Kind

from .constructing import constructions


def _stepping(anatomy: Anatomy) -> Iterator[ast.stmt]:
    """Whatever calls step, for its value too."""
    return (anatomy.statement(call) for call in anatomy.calls("step", "optimizer"))


def _steps(anatomy: Anatomy) -> Iterator[ast.stmt]:
    return (each for call in anatomy.calls("step", "optimizer") if (each := anatomy.alone(call)))


def _clearings(anatomy: Anatomy) -> Iterator[ast.stmt]:
    for kind in ("optimizer", "module"):
        yield from (each for call in anatomy.calls("zero_grad", kind) if (each := anatomy.alone(call)))


def _backwards(anatomy: Anatomy) -> Iterator[ast.stmt]:
    for name in ("backward", "manual_backward"):
        yield from (each for call in anatomy.calls(name) if (each := anatomy.alone(call)))


def _gradient_reads(anatomy: Anatomy) -> Iterator[ast.stmt]:
    reads = (node for node in anatomy.of(ast.Attribute) if node.attr == "grad" and isinstance(node.ctx, ast.Load))
    return (anatomy.statement(node) for node in reads)


def _beside(anatomy: Anatomy, statement: ast.stmt, others: Iterator[ast.stmt]) -> list[ast.stmt]:
    """Those of the others that are in the same body."""
    body = anatomy.body(statement)
    return [each for each in others if each in body and each is not statement]


def _zero_grad_dropped(anatomy: Anatomy) -> Iterator[Planted]:
    for statement in _clearings(anatomy):
        yield anatomy.dropped(statement, *_backwards(anatomy), *_stepping(anatomy))


def _zero_grad_between(anatomy: Anatomy) -> Iterator[Planted]:
    for statement in _clearings(anatomy):
        for target in _beside(anatomy, statement, _backwards(anatomy)):
            if target.lineno > statement.lineno:
                yield anatomy.moved(statement, target, behind=True)
                break
        for target in _beside(anatomy, statement, _steps(anatomy)):
            if target.lineno < statement.lineno and not _of_another(anatomy, statement, target):
                yield anatomy.moved(statement, target, behind=False)
                break


def _of_another(anatomy: Anatomy, clearing: ast.stmt, step: ast.stmt) -> bool:
    """Whether one optimizer clears and another one steps."""
    match clearing, step:
        case (
            ast.Expr(value=ast.Call(func=ast.Attribute(value=one))),
            ast.Expr(value=ast.Call(func=ast.Attribute(value=other))),
        ):
            return anatomy.fact(one).kind == "optimizer" and anatomy.source(one) != anatomy.source(other)
    return False


def _step_first(anatomy: Anatomy) -> Iterator[Planted]:
    for statement in _steps(anatomy):
        before = [each for each in _beside(anatomy, statement, _backwards(anatomy)) if each.lineno < statement.lineno]
        for target in before[-1:]:
            yield anatomy.moved(statement, target, behind=False, also=[target])


def _step_dropped(anatomy: Anatomy) -> Iterator[Planted]:
    for call in anatomy.calls("step", "optimizer"):
        statement = anatomy.alone(call)
        if statement is None:
            continue
        yield anatomy.dropped(statement, *_backwards(anatomy), *map(anatomy.statement, constructions(anatomy)))


def _backward_dropped(anatomy: Anatomy) -> Iterator[Planted]:
    """Who reads a `.grad` steps by hand: that it is None, or an old one, shows there."""
    for statement in _backwards(anatomy):
        yield anatomy.dropped(statement, *_stepping(anatomy), *_clearings(anatomy), *_gradient_reads(anatomy))


def _backward_twice(anatomy: Anatomy) -> Iterator[Planted]:
    for statement in _backwards(anatomy):
        yield anatomy.after(statement, anatomy.source(statement))


def _backward_retained(anatomy: Anatomy) -> Iterator[Planted]:
    for statement in _backwards(anatomy):
        assert isinstance(statement, ast.Expr)
        assert isinstance(statement.value, ast.Call)
        if not statement.value.args and not statement.value.keywords:
            line = anatomy.lines[statement.lineno - 1]
            yield anatomy.edited(
                statement.lineno, statement.lineno, [line.replace(".backward()", ".backward(retain_graph=True)"), line]
            )


def _clip_late(anatomy: Anatomy) -> Iterator[Planted]:
    for name in ("clip_grad_norm_", "clip_grad_value_"):
        for call in anatomy.calls(name):
            statement = anatomy.statement(call)
            later = [each for each in _beside(anatomy, statement, _steps(anatomy)) if each.lineno > statement.lineno]
            for target in later[:1]:
                yield anatomy.moved(statement, target, behind=True)


def _clip_early(anatomy: Anatomy) -> Iterator[Planted]:
    for name in ("clip_grad_norm_", "clip_grad_value_"):
        for call in anatomy.calls(name):
            statement = anatomy.statement(call)
            before = [
                each for each in _beside(anatomy, statement, _backwards(anatomy)) if each.lineno < statement.lineno
            ]
            for target in before[-1:]:
                yield anatomy.moved(statement, target, behind=False)


def _kept_graph_dropped(name: str) -> Kind:
    """`create_graph=True` or `retain_graph=True` missing, where it was needed."""

    def plant(anatomy: Anatomy) -> Iterator[Planted]:
        for call in anatomy.of(ast.Call):
            for keyword in call.keywords:
                if keyword.arg == name and isinstance(keyword.value, ast.Constant) and keyword.value.value is True:
                    yield anatomy.replaced(keyword.value, "False")

    return Kind(f"{name} dropped", plant)


KINDS = (
    Kind("zero_grad dropped", _zero_grad_dropped),
    Kind("zero_grad before the step", _zero_grad_between),
    Kind("step before backward", _step_first),
    Kind("step dropped", _step_dropped),
    Kind("backward dropped", _backward_dropped),
    Kind("backward twice", _backward_twice),
    Kind("backward twice, retained", _backward_retained),
    Kind("clipped after the step", _clip_late, always=True),
    Kind("clipped before backward", _clip_early, always=True),
    _kept_graph_dropped("create_graph"),
    _kept_graph_dropped("retain_graph"),
)
