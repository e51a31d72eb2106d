"""Windows of accumulation, scaled losses and losses that go on into the next round."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from tests.mutation.anatomy import Anatomy, Planted, Row
from tests.mutation.kinds import Kind

_CLIPS = ("clip_grad_norm_", "clip_grad_value_")


def _out_of_window(method: str, *, behind: bool) -> Callable[[Anatomy], Iterator[Planted]]:
    """What should happen once in a window happens in every round."""

    def plant(anatomy: Anatomy) -> Iterator[Planted]:
        for call in anatomy.calls(method, "optimizer"):
            statement = anatomy.alone(call)
            window = anatomy.parent(statement) if statement is not None else None
            loops = list(anatomy.around(call, ast.For, ast.While, ast.If))
            if statement is None or not isinstance(window, ast.If) or statement not in window.body:
                continue
            if len(window.body) > 1 and not window.orelse and len(loops) > 1:
                yield _moved_out(anatomy, statement, window, behind=behind)

    return plant


def _moved_out(anatomy: Anatomy, statement: ast.stmt, window: ast.If, *, behind: bool) -> Planted:
    rows = [Row(line) for line in anatomy.lines]
    line = Row(anatomy.indent(window) + anatomy.lines[statement.lineno - 1].lstrip(), planted=True)
    first, last, own = window.lineno - 1, window.end_lineno or window.lineno, statement.lineno - 1
    head = rows[first]._replace(planted=True)
    block = [head, *rows[first + 1 : own], *rows[own + 1 : last]]
    moved = [*block, line] if behind else [line, *block]
    return Planted(window.lineno, (*rows[:first], *moved, *rows[last:]))


def _carried(anatomy: Anatomy) -> Iterator[Planted]:
    """The loss of a round is part of that of the next one."""
    for call in anatomy.calls("backward", "tensor"):
        statement = anatomy.alone(call)
        receiver = call.func.value  # type: ignore[attr-defined]
        loop = next(anatomy.around(call, ast.For, ast.While, ast.FunctionDef), None)
        if statement is None or not isinstance(loop, ast.For | ast.While) or not isinstance(receiver, ast.Name):
            continue
        if anatomy.fact(call).times < 2 or call.keywords:
            continue
        indent, name = anatomy.indent(statement), receiver.id
        rows = [Row(line) for line in anatomy.lines]
        new = [
            Row(f"{indent}{name} = {name} + 0.1 * carried", planted=True),
            rows[statement.lineno - 1]._replace(planted=True),
            Row(f"{indent}carried = {name}", planted=True),
        ]
        head = Row(f"{anatomy.indent(loop)}carried = 0.0")
        first = loop.lineno - 1
        yield Planted(
            loop.lineno,
            (*rows[:first], head, *rows[first : statement.lineno - 1], *new, *rows[statement.lineno :]),
        )


def _scaled_steps(anatomy: Anatomy, method: str) -> Iterator[ast.Call]:
    """The calls of a scaler that are given an optimizer."""
    for call in anatomy.calls(method):
        if isinstance(call.func, ast.Attribute) and call.args and anatomy.fact(call.args[0]).kind == "optimizer":
            yield call


def _unscale_dropped(anatomy: Anatomy) -> Iterator[Planted]:
    for call in _scaled_steps(anatomy, "unscale_"):
        statement = anatomy.alone(call)
        if statement is not None:
            clips = [anatomy.statement(clip) for name in _CLIPS for clip in anatomy.calls(name)]
            yield anatomy.dropped(statement, *clips)


def _past_the_scaler(anatomy: Anatomy) -> Iterator[Planted]:
    """The optimizer steps by itself, with scaled gradients."""
    for call in _scaled_steps(anatomy, "step"):
        yield anatomy.replaced(call, f"{anatomy.source(call.args[0])}.step()")


def _unscaled(anatomy: Anatomy) -> Iterator[Planted]:
    """The loss is not scaled, and its gradients are divided."""
    for call in anatomy.calls("scale"):
        if call.args and anatomy.fact(call.args[0]).differentiable:
            yield anatomy.replaced(call, anatomy.source(call.args[0]))


KINDS = (
    Kind("step out of the window", _out_of_window("step", behind=False)),
    Kind("cleared in every round", _out_of_window("zero_grad", behind=True)),
    Kind("loss carried over", _carried),
    Kind("unscale dropped", _unscale_dropped),
    Kind("step past the scaler", _past_the_scaler),
    Kind("loss not scaled", _unscaled),
)
