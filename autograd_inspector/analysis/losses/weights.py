"""Parameters that do nothing but weigh a term of the loss: the loss is linear in them, so it has no minimum."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import cached_property

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.memory import gradients_of, writes_into
from autograd_inspector.analysis.op_kinds import OpKind, node_is_a
from autograd_inspector.model.autograd import Backward, Node
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.settings import is_off

_SUMS = OpKind.ADDS | OpKind.SUBTRACTS | OpKind.REDUCES | OpKind.NEGATES | OpKind.STACKS | OpKind.VIEWS
_SCALES = OpKind.MULTIPLIES | OpKind.DIVIDES
"""Linear where one side is a constant: then the node has one edge that leads on."""


class LossWeight(Struct, frozen=True):
    """A scalar that ``op`` multiplies a term of the loss by, and that ``optimizer`` steps."""

    tensor: int
    op: Op
    optimizer: OptimizerRecord
    run: Backward


def loss_weights(analysis: Analysis) -> Iterator[LossWeight]:
    """Each once, by the last backward that reaches it."""
    capture = analysis.capture
    graphs: dict[int, _Linear] = {}
    for optimizer in capture.placement.optimizers:
        pairs = zip(optimizer.parameters, optimizer.groups, strict=False) if optimizer.steps else ()
        for group, settings in pairs:
            for tensor in group if is_off(settings.get("maximize")) else ():
                if math.prod(capture.tensors[tensor].shape) != 1 or tensor not in analysis.optimized_trainable:
                    continue
                run = next(analysis.timeline.backwards_to(tensor).before(len(capture.ops) + 1), None)
                if run is None:
                    continue
                graph = graphs.setdefault(run.index, _Linear(analysis, run))
                op = graph.weighs(tensor)
                if op is not None and not _led(analysis, tensor):
                    yield LossWeight(tensor, op, optimizer, run)


def _led(analysis: Analysis, tensor: int) -> bool:
    """Whether the program itself has a hand in how it moves: by hooks, in its gradient, in its values.

    A multiplier that goes up the gradient, a weight that is balanced by hand. Clipping is for all parameters alike.
    """
    capture = analysis.capture
    if any(hook.tensor == tensor for hook in capture.tensor_hooks):
        return True
    if any(write.gradient >= 0 for write in analysis.timeline.writes_of(tensor).all):
        return True
    end = len(capture.ops)
    clipping = {read.site for read in analysis.timeline.reads_of(tensor).all if read.clips >= 0}
    written = (
        op.site not in clipping
        for gradient in gradients_of(analysis, [tensor])
        for op, _ in writes_into(analysis, gradient, 0, end)
        if not op.has(Trait.BACKWARD)
    )
    first = min((run.end for run in capture.backwards if tensor in run.reached), default=0)
    by_hand = (
        not op.has(Trait.STEP) for op, _ in analysis.writes_to(capture.tensors[tensor].storage, tensor, first, end)
    )
    return any(written) or any(by_hand)


class _Linear:
    """The part of a run's graph in which the loss is a sum of terms."""

    def __init__(self, analysis: Analysis, run: Backward) -> None:
        self._analysis = analysis
        self._run = run

    @cached_property
    def _nodes(self) -> list[Node]:
        return self._analysis.nodes_of(self._run)

    @cached_property
    def _leaves(self) -> dict[int, Node]:
        return {node.variable: node for node in self._nodes if node.variable >= 0}

    @cached_property
    def _parents(self) -> dict[int, list[Node]]:
        parents: dict[int, list[Node]] = {}
        for node in self._nodes:
            for child, _ in node.edges:
                parents.setdefault(child, []).append(node)
        return parents

    @cached_property
    def _terms(self) -> frozenset[int]:
        """The nodes that the loss is the sum of, with factors that are constants, without those that add them up."""
        return self._walked[0]

    @cached_property
    def _walked(self) -> tuple[frozenset[int], frozenset[int]]:
        """(the terms, what adds them up)."""
        terms, sums, todo = set[int](), set[int](), list(self._run.graph.roots)
        while todo:
            index = todo.pop()
            if index in terms or index in sums:
                continue
            node = self._analysis.capture.nodes[index]
            adds = node_is_a(node.name, _SUMS) or (node_is_a(node.name, _SCALES) and len(node.edges) == 1)
            (sums if adds else terms).add(index)
            todo += [child for child, _ in node.edges] if adds else []
        return frozenset(terms), frozenset(sums)

    def weighs(self, tensor: int) -> Op | None:
        """The op that multiplies a term, whose gradient goes on to others, by a leaf that has no other use."""
        capture = self._analysis.capture
        leaf = self._leaves.get(tensor)
        above = [] if leaf is None else self._parents.get(leaf.index, [])
        if leaf is None or len(above) != 1 or leaf.hooks or above[0].op < 0:
            return None
        product, op = above[0], capture.ops[above[0].op]
        others = [child for child, _ in product.edges if child != leaf.index]
        if not node_is_a(product.name, OpKind.MULTIPLIES) or len(product.edges) != 2 or len(others) != 1:
            return None
        if not self._is_term(product) or not any(math.prod(capture.tensors[t].shape) == 1 for t in op.outputs):
            return None
        beside = self._terms - {product.index}
        learns = not capture.nodes[others[0]].leaf and self._learns(others, tensor) and self._learns(beside, tensor)
        return op if learns else None

    def _is_term(self, node: Node) -> bool:
        """Whether the loss is the sum of it and of others, and uses it in no other way."""
        around = self._parents.get(node.index, [])
        return node.index in self._terms and bool(around) and all(each.index in self._walked[1] for each in around)

    def _learns(self, starts: Iterable[int], tensor: int) -> bool:
        """Whether something else that is meant to learn gets its gradient there."""
        below = self._analysis.leaves.of(starts)
        return any(leaf != tensor and leaf in self._analysis.optimized_trainable for leaf in below)
