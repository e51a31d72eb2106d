"""Products of two factors that are both zero because of parameters: neither gets a gradient, and both stay zero.

The gradient of each factor is multiplied by the other one. Where one of the two is zero, as in LoRA, it moves with the
first step, and the other with the second.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import any_of
from autograd_inspector.analysis.sure_zeros import surely_zero
from autograd_inspector.model.op import Op, Trait

_DEEPEST = 8
PRODUCTS = OpKind.MULTIPLIES | OpKind.MATRIX_MULTIPLIES
_SAME = OpKind.VIEWS | OpKind.COPIES | OpKind.CONVERTS | OpKind.NEGATES | OpKind.DIVIDES
_FACTORS = 2


class StuckProduct(Struct, frozen=True):
    """``op`` multiplies what is zero because of one parameter by what is zero because of another.

    ``pairs``: those two, of it and of the other ops of its line that do the same.
    """

    op: Op
    pairs: tuple[tuple[int, int], ...]


def stuck_products(analysis: Analysis) -> Iterator[StuckProduct]:
    """Each line once, as far as no gradient comes to the parameters in another way."""
    if not analysis.returns_zeros and not any_of(analysis.capture, OpKind.ZEROES):
        return
    products: dict[int, tuple[Op, tuple[int, int]]] = {}
    for node in analysis.capture.nodes:
        op = analysis.capture.op_of(node)
        if op is None or op.site in products or not is_a(op.name, PRODUCTS) or op.has(Trait.BACKWARD):
            continue
        if len(op.inputs) == _FACTORS and op.inputs[0] != op.inputs[1]:
            one, other = (_zero_by(analysis, factor, op.index) for factor in op.inputs)
            if one >= 0 and other >= 0 and one != other:
                products[op.site] = op, (one, other)
    otherwise = _reached_otherwise(analysis, frozenset(products)) if products else frozenset()
    by_line: dict[object, StuckProduct] = {}
    for op, pair in sorted(products.values(), key=lambda product: product[0].index):
        if otherwise.isdisjoint(pair):
            found = by_line.setdefault(line_of(analysis, op.site), StuckProduct(op, ()))
            by_line[line_of(analysis, op.site)] = StuckProduct(found.op, (*found.pairs, pair))
    yield from by_line.values()


def _zero_by(analysis: Analysis, tensor: int, before: int, depth: int = 0) -> int:
    """The parameter that learns, is zero, and makes all of a tensor zero; -1: none, or that is not sure.

    What the program multiplies by, and gives anew in each step, may be other than zero the next time.
    """
    record = analysis.capture.tensors[tensor]
    if record.kind == "parameter":
        zero = tensor in analysis.learning and surely_zero(analysis.capture, analysis.flow, tensor, before)
        return tensor if zero else -1
    producers = analysis.flow.producers(tensor, before) if depth < _DEEPEST else []
    if len(producers) != 1:
        return -1
    op = analysis.capture.ops[producers[0]]
    if is_a(op.name, PRODUCTS) and len(op.inputs) <= _FACTORS:
        read = op.inputs
    else:
        read = op.inputs[:1] if is_a(op.name, _SAME) else ()
    return next((by for each in read if (by := _zero_by(analysis, each, op.index, depth + 1)) >= 0), -1)


def _reached_otherwise(analysis: Analysis, sites: frozenset[int]) -> frozenset[int]:
    """The leaves that some backward comes to by other ways than through products at these lines."""
    nodes, ops = analysis.capture.nodes, analysis.capture.ops
    todo = [root for run in analysis.capture.completed_runs for root in run.graph.roots]
    seen, leaves = set(todo), set[int]()
    while todo:
        node = nodes[todo.pop()]
        if node.variable >= 0:
            leaves.add(node.variable)
        if node.op < 0 or ops[node.op].site not in sites:
            fresh = {child for child, _ in node.edges} - seen
            seen |= fresh
            todo += fresh
    return frozenset(leaves)
