"""Second derivatives that are zero wherever they are defined: all ways to the input lead through bends, as of ReLU.

The first derivative of such a network depends on the input through the signs of its units alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a, node_is_a
from autograd_inspector.model.autograd import Backward, Node
from autograd_inspector.model.op import Op


class ZeroSlope(Struct, frozen=True):
    """``run`` asked for a derivative by ``tensors`` that is zero because of ``bends``; ``loss`` was computed with it."""

    run: Backward
    tensors: tuple[int, ...]
    bends: tuple[Op, ...]
    loss: Backward


def zero_slopes(analysis: Analysis) -> Iterator[ZeroSlope]:
    """One for each line that asks, of those that a loss goes back to."""
    told: set[int] = set()
    losses: dict[int, Backward] | None = None
    for run in analysis.capture.backwards:
        if run.api == "grad" and not run.error and run.site not in told and not run.graph.blind:
            bends = _bends(analysis, run)
            if bends and losses is None:
                losses = _losses(analysis)
            if bends and losses and run.start in losses:
                told.add(run.site)
                yield ZeroSlope(run, run.reached, bends, losses[run.start])


def _bends(analysis: Analysis, run: Backward) -> tuple[Op, ...]:
    """The ops that bend, where no way to what was asked for passes by them all."""
    nodes = analysis.capture.nodes
    walls: list[Node] = []
    todo = list(run.graph.roots)
    seen = set(todo)
    while todo:
        node = nodes[todo.pop()]
        if _asked(analysis, run, node):
            return ()
        edges = node.edges
        if node_is_a(node.name, OpKind.SLOPE_OF_BENDS):
            walls.append(node)
            edges = edges[:-1]
        fresh = [child for child, _ in edges if child not in seen]
        seen.update(fresh)
        todo += fresh
    behind = analysis.leaves.of(run.graph.roots) if walls else frozenset()
    asked = [tensor for tensor in run.reached if tensor in behind]
    return tuple(dict.fromkeys(op for node in walls for op in _bending(analysis, node))) if asked else ()


def _asked(analysis: Analysis, run: Backward, node: Node) -> bool:
    if node.variable >= 0:
        return node.variable in run.reached
    return node.op >= 0 and not set(analysis.capture.ops[node.op].outputs).isdisjoint(run.reached)


def _bending(analysis: Analysis, node: Node) -> list[Op]:
    """What made the result that a slope was taken at, or was given it."""
    below = analysis.capture.nodes[node.edges[-1][0]] if node.edges else None
    made = analysis.capture.op_of(below) if below is not None else None
    if made is None:
        return []
    readers = [analysis.capture.ops[at] for tensor in made.outputs for at in analysis.capture.readers.get(tensor, ())]
    return [op for op in (made, *readers) if is_a(op.name, OpKind.BENDS)][:1]


def _losses(analysis: Analysis) -> dict[int, Backward]:
    """Op that asked for a derivative -> the first backward whose roots were computed with it."""
    losses: dict[int, Backward] = {}
    for loss in analysis.timeline.backwards.all:
        for op, _ in analysis.flow.upstream([(root, loss.start) for root in loss.roots]):
            if op.name == "grad":
                losses.setdefault(op.index, loss)
    return losses
