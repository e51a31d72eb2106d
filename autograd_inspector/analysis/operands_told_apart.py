"""Whether the source calls the operands of an op differently: ``kept * p.grad``, but not ``g * g``."""

from __future__ import annotations

import ast

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.namespaces import is_value
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op
from autograd_inspector.source.fragments import expression
from autograd_inspector.source.writing import written


def told_apart(analysis: Analysis, op: Op) -> bool:
    """Whether the source names the two differently wherever it hands them on: ``g * g`` and ``dot(g, g)`` do not."""
    user_frames = [frame for frame in analysis.capture.site(op.site) if not frame.library]
    return (
        bool(user_frames)
        and _differ(user_frames[0], first=True)
        and all(_differ(frame, first=False) for frame in user_frames[1:])
    )


def _differ(frame: Location, *, first: bool) -> bool:
    match expression(frame.expression):
        case ast.BinOp(left=left, right=right):
            operands = [left, right]
        # What a method of the program's own is called on is no operand of the op within it.
        case ast.Call(func=ast.Attribute(value=owner), args=args) if first and is_value(frame, owner):
            operands = [owner, *args]
        case ast.Call(args=args):
            operands = list(args)
        case _:
            return not first
    names = [_references(frame, part) for part in operands]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    if first:
        return bool(pairs) and not any(a & b for a, b in pairs)
    return not any(a and a == b for a, b in pairs)  # A call takes other values, too: `step(model, model.loss(x))`.


def _references(place: Location, node: ast.AST) -> set[str]:
    """The variables that an expression reads, as they are written out: `self.old`, `p.grad`."""
    match node:
        case ast.Call(func=ast.Attribute(value=owner), args=args) if is_value(place, owner):
            return set().union(*(_references(place, part) for part in [owner, *args]))
        case ast.Call(args=args):
            return set().union(*(_references(place, part) for part in args))
        case ast.Name() | ast.Attribute() | ast.Subscript():
            return {written(node)}
    return set().union(*(_references(place, part) for part in ast.iter_child_nodes(node)))
