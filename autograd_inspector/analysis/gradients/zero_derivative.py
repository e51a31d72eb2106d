"""Ops whose derivative is zero everywhere by definition: autograd follows them, and nothing comes back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, node_is_a
from autograd_inspector.model.autograd import Node
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait

NO_TRAIT = Trait(0)
_FLAT = OpKind.DRAWS | OpKind.PIECEWISE_CONSTANT


def flattened(analysis: Analysis, kinds: OpKind, traits: Trait = NO_TRAIT) -> Iterator[tuple[Op, tuple[int, ...]]]:
    """(op, parameters meant to learn whose every way to every loss leads through ops without a derivative), once a line.

    Of the ops of those kinds, or with one of those traits.
    """
    capture = analysis.capture
    runs = [run for run in capture.backwards if run.api == "backward" and not run.error]
    if any(run.graph.blind for run in runs):
        return  # What lies behind the unknown part may have another way.
    idle: set[int] = set()
    walls: dict[int, tuple[Op, set[int]]] = {}
    lively, flat = _split(capture, (root for run in runs for root in run.graph.roots))
    for node in flat:
        below = analysis.leaves_below(node)
        idle |= below
        op = capture.ops[node.op] if node.op >= 0 else None
        if op is not None and (node_is_a(node.name, kinds) or op.has(traits)):
            walls.setdefault(op.site, (op, set()))[1].update(below)
    dead = (idle - lively) & analysis.optimized_trainable
    for op, below in walls.values():
        if below & dead:
            yield op, tuple(sorted(below & dead))


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
        if node_is_a(node.name, _FLAT) or (node.op >= 0 and capture.ops[node.op].has(Trait.CONSTANT)):
            flat.append(node)
            continue
        fresh = [index for index, _ in node.edges if index not in seen]
        seen.update(fresh)
        todo += fresh
    return alive, flat
