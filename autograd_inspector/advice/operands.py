"""What the source writes for one of the tensors that an op read: ``batch["logp"]`` of ``log_prob - batch["logp"]``."""

from __future__ import annotations

import ast

from autograd_inspector.advice.spelling import is_path
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.callers import called_function
from autograd_inspector.analysis.namespaces import is_value
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op
from autograd_inspector.source.fragments import expression

_SEVERAL = (ast.List, ast.Tuple)


def operand(analysis: Analysis, op: Op, tensor: int) -> str:
    """The expression that an op's line reads the tensor by; "" where the source does not tell it from the others."""
    place = analysis.capture.place(op.site)
    # One that ran inside a call of the line (a layer, a helper) does not read what the line says.
    if place is None or op.inputs.count(tensor) != 1 or analysis.capture.sites[op.site].frames[0] != place:
        return ""
    node = expression(place.expression)
    # What a layer or a helper computed has the operands of another call.
    other = isinstance(node, ast.Call) and called_function(place.expression) != op.name
    operands = [] if node is None or other else _operands(place, node)
    if len(operands) != len(op.inputs):
        return ""
    text = ast.get_source_segment(place.expression, operands[op.inputs.index(tensor)]) or ""
    return text if is_path(text) else ""


def _operands(place: Location, node: ast.expr) -> list[ast.expr]:
    """The operands that may be tensors, in the order in which a call of torch takes them."""
    if isinstance(node, ast.BinOp):
        return [part for part in (node.left, node.right) if not isinstance(part, ast.Constant)]
    if isinstance(node, ast.Call):
        receivers = (
            [node.func.value] if isinstance(node.func, ast.Attribute) and is_value(place, node.func.value) else []
        )
        given = [part for each in node.args for part in (each.elts if isinstance(each, _SEVERAL) else [each])]
        return [*receivers, *(part for part in given if not isinstance(part, ast.Constant))]
    return []
