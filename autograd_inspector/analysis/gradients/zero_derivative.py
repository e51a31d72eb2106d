"""Ops whose derivative is zero everywhere by definition: autograd follows them, and nothing comes back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a, node_is_a
from autograd_inspector.model.autograd import Node
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait

NO_TRAIT = Trait(0)
_TELLING = Trait.CONSTANT | Trait.PICKS
_FLAT = OpKind.DRAWS | OpKind.PIECEWISE_CONSTANT


class Flat(Struct, frozen=True):
    """An op that passes back nothing but zeros, and what lies behind it and is meant to learn.

    ``partial``: these learn by other ways, and get nothing through this one.
    """

    op: Op
    parameters: tuple[int, ...]
    partial: bool = False


def flattened(analysis: Analysis, kinds: OpKind, traits: Trait = NO_TRAIT) -> Iterator[Flat]:
    """The flat ops of those kinds, or with such a trait, one for each line.

    Of what has no other way to any loss, else, of an op of those kinds, of what learns otherwise.
    """
    capture = analysis.capture

    def told(op: Op) -> bool:
        return op.has(traits) or bool(traits & Trait.CONSTANT and divided_by_itself(capture, op))

    runs = capture.completed_runs
    if any(run.graph.blind for run in runs):
        return  # What lies behind the unknown part may have another way.
    behind: set[int] = set()
    walls: dict[int, tuple[Op, set[int]]] = {}
    lively, flat = _split(capture, (root for run in runs for root in run.graph.roots))
    remainders = _remainders(capture.nodes, flat)
    for node in flat:
        below = set(analysis.leaves.of(child for child, _ in idle_edges(capture, node)))
        behind |= below
        op = capture.ops[node.op] if node.op >= 0 and node.index not in remainders else None
        if op is not None and (node_is_a(node.name, kinds) or told(op)):
            walls.setdefault(op.site, (op, set()))[1].update(below)
    meant = analysis.learning
    dead = (behind - lively) & meant
    for op, below in walls.values():
        for parameters, partial in ((below & dead, False), (below & lively & meant, True)):
            if parameters and not (partial and told(op)):
                yield Flat(op, tuple(sorted(parameters)), partial)
                break


def idle_edges(capture: Capture, node: Node) -> tuple[tuple[int, int], ...]:
    """The edges along which a node passes back nothing but zeros: all of them, the last one, or none."""
    if node_is_a(node.name, _FLAT):
        return node.edges
    op = capture.ops[node.op] if node.op >= 0 else None
    if op is None or not (op.has(_TELLING) or is_a(op.name, OpKind.DIVIDES)):
        return ()
    if constant(capture, op):
        return node.edges
    picks = op.has(Trait.PICKS) and capture.tensors[op.inputs[-1]].requires_grad
    return node.edges[-1:] if picks else ()


def constant(capture: Capture, op: Op) -> bool:
    """Whether the result does not depend on the input, for what is normalised there has one element."""
    return op.has(Trait.CONSTANT) or divided_by_itself(capture, op)


def divided_by_itself(capture: Capture, op: Op) -> bool:
    """Whether an op divides a tensor by its own sum over dimensions of size 1: each element is its own sum."""
    if not is_a(op.name, OpKind.DIVIDES) or len(op.inputs) != 2:
        return False
    whole, part = (capture.tensors[tensor] for tensor in op.inputs)
    made = capture.ops[part.birth] if part.birth >= 0 else None
    if made is None or made.inputs != (whole.id,) or not is_a(made.name, OpKind.REDUCES):
        return False
    unchanged = op.versions[0] == made.versions[0] and op.versions[1] <= 0
    return part.shape == whole.shape and unchanged


def behind_flat_ops(capture: Capture, node: Node) -> bool:
    """Whether flat ops lie on every way from a node to a leaf, so that no gradient comes out of what it made."""
    alive, flat = _split(capture, [node.index])
    return bool(flat) and not alive


def _split(capture: Capture, roots: Iterable[int]) -> tuple[set[int], list[Node]]:
    """(leaves that gradient arrives at, the flat nodes that it meets on the way)."""
    nodes = capture.nodes
    alive: set[int] = set()
    flat: list[Node] = []
    todo = [*dict.fromkeys(roots)][::-1]
    seen = set(todo)
    while todo:
        node = nodes[todo.pop()]
        if node.variable >= 0:
            alive.add(node.variable)
        idle = idle_edges(capture, node)
        if idle:
            flat.append(node)
        fresh = [index for index, _ in node.edges[: len(node.edges) - len(idle)] if index not in seen]
        seen.update(fresh)
        todo += fresh
    return alive, flat


def _remainders(nodes: Sequence[Node], flat: list[Node]) -> frozenset[int]:
    """The flat nodes that are read beside what they were given: in ``x - floor(x)`` nothing is lost."""
    inputs = {node.index: {child for child, _ in node.edges} for node in flat}
    if not inputs:
        return frozenset()
    return frozenset(
        child
        for node in nodes
        for child, _ in node.edges
        if child in inputs and not inputs[child].isdisjoint(other for other, _ in node.edges)
    )
