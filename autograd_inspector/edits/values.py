"""Values that are computed otherwise: away from where they are not finite, or with a gradient where they have none."""

from __future__ import annotations

import ast
import math

from autograd_inspector.edits.expressions import called, operand_of, stands_alone, with_argument
from autograd_inspector.edits.program import Program, end_of, start_of
from autograd_inspector.edits.scope import all_known
from autograd_inspector.model.edit import Edit
from autograd_inspector.model.rewrites import (
    AsFunction,
    BoundBase,
    FiniteMask,
    MadeWith,
    RootOfVariance,
    Spread,
)

_CLOSED = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant)
_EPS = "1e-12"


def masked_finitely(program: Program, remedy: FiniteMask) -> list[Edit]:
    """``-1e9`` for ``float("-inf")`` and ``-torch.inf``."""
    statement = program.statement(remedy.at)
    found = [] if statement is None else [n for n in ast.walk(statement) if isinstance(n, ast.expr) and _is_endless(n)]
    return [program.edit(start_of(node), end_of(node), remedy.number) for node in found]


def _is_endless(node: ast.expr) -> bool:
    """Whether an expression is minus infinity, as a number."""
    match node:
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str() as text)]):
            return text.strip().lower() in {"-inf", "-infinity"}
        case ast.UnaryOp(op=ast.USub(), operand=ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=text)])):
            return str(text).strip().lower() in {"inf", "infinity"}
        case ast.UnaryOp(op=ast.USub(), operand=ast.Attribute(attr="inf") | ast.Name(id="inf")):
            return True
    return False


def root_of_variance(program: Program, remedy: RootOfVariance) -> list[Edit]:
    """``(x.var(0) + 1e-12).sqrt()`` for ``x.std(0)``."""
    call = program.expression(remedy.at)
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "std":
        return []
    line, column = end_of(call.func)
    told = any(keyword.arg in {"correction", "unbiased"} for keyword in call.keywords)
    biased = with_argument(program, call, "correction", "0") if remedy.biased and not told else []
    if remedy.biased and not biased:
        return []
    return [
        program.edit(start_of(call), start_of(call), "("),
        program.edit((line, column - len("std")), (line, column), "var"),
        *biased,
        program.edit(end_of(call), end_of(call), f" + {_EPS}).sqrt()"),
    ]


def base_bounded(program: Program, remedy: BoundBase) -> list[Edit]:
    """``x.clamp(-1e2, 1e2) ** 16`` for ``x ** 16``."""
    node = program.expression(remedy.at)
    match node:
        case ast.BinOp(op=ast.Pow(), right=ast.Constant(value=power)):
            pass
        case ast.Call(args=[*_, ast.Constant(value=power)]) if called(node) == "pow":
            pass
        case _:
            return []
    base = operand_of(node, remedy.at, first=True)
    if base is None or not isinstance(power, (int, float)) or power <= 1:
        return []
    # The sum of some of them is finite as well.
    limit = f"1e{math.floor((math.log10(remedy.largest) - _ROOM) / power)}"
    text = program.written(base) if isinstance(base, _CLOSED) else f"({program.written(base)})"
    return [program.edit(start_of(base), end_of(base), f"{text}.clamp(-{limit}, {limit})")]


_ROOM = 3
"""So many decimal digits of the range of a dtype are kept for what the results are added up to."""


def as_function(program: Program, remedy: AsFunction) -> list[Edit]:
    """``torch.sigmoid(score(h))`` for ``score(h).softmax(-1)``."""
    call = program.expression(remedy.at)
    statement = program.statement_of(call) if call is not None else None
    operand = operand_of(call, remedy.at, first=True) if isinstance(call, ast.Call) else None
    if call is None or statement is None or operand is None or isinstance(operand, ast.Starred):
        return []
    text = f"{remedy.function}({program.written(operand)})"
    return [program.edit(start_of(call), end_of(call), text)] if all_known(program, statement, text) else []


def made_with(program: Program, remedy: MadeWith) -> list[Edit]:
    """``nn.CTCLoss(zero_infinity=True)`` for ``nn.CTCLoss()``."""
    calls = [node for node in program.source.nodes if isinstance(node, ast.Call) and called(node) == remedy.module]
    edits = [with_argument(program, call, remedy.name, remedy.value) for call in calls]
    return [edit for each in edits for edit in each] if all(edits) else []


def spread(program: Program, remedy: Spread) -> list[Edit]:
    """``0.0 + (end - 0.0) * torch.linspace(0, 1, n)`` for ``torch.linspace(0.0, end, n)``."""
    call = program.expression(remedy.at)
    match call:
        case ast.Call(args=[start, end, *_]) if called(call) == "linspace":
            pass
        case _:
            return []
    if isinstance(start, ast.Starred) or isinstance(end, ast.Starred):
        return []
    first, last = (
        program.written(node) if isinstance(node, _CLOSED) else f"({program.written(node)})" for node in (start, end)
    )
    inner = program.within(start_of(call), start_of(start)) + "0, 1" + program.within(end_of(end), end_of(call))
    begins_at_zero = isinstance(start, ast.Constant) and start.value == 0
    text = f"{last} * {inner}" if begins_at_zero else f"{program.written(start)} + ({last} - {first}) * {inner}"
    return [program.edit(start_of(call), end_of(call), text if stands_alone(program, call) else f"({text})")]
