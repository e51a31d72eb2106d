"""Pairs that one loss measures twice, with a constant end in one term and with none in the other.

A codebook and an encoder, a posterior and a prior: each term moves one end towards the other, which it takes for a
constant. Where a term has no constant, both ends move by it, and the end that was to follow slowly does not.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Node
from autograd_inspector.model.op import Op, Trait

_Measure = tuple[str, frozenset[int]]
"""The op, and the two ends."""
_SAME = OpKind.VIEWS | OpKind.CONVERTS | OpKind.COPIES


class MeasuredTwice(Struct, frozen=True):
    """``whole`` measures how far ``moved`` is from ``other``, as ``half`` does, which takes ``moved`` for a constant.

    So ``other`` moves by both, where ``whole`` was to move ``moved`` alone.
    """

    whole: Op
    half: Op
    moved: int
    other: int


def measured_twice(analysis: Analysis) -> Iterator[MeasuredTwice]:
    """Each pair once: of exactly two terms, by the same measure, with two ends that learn.

    A run is asked for the terms that it adds to the graphs of those before it, which may have had one of the two.
    """
    graphs, told = analysis.run_graphs, set[int]()
    met: dict[_Measure, list[tuple[Op, int]]] = {}
    for place, (_, nodes) in enumerate(graphs):
        new = list(_terms(analysis, nodes))
        for measure, op, node in new:
            met.setdefault(measure, []).append((op, node))
        for measure in dict.fromkeys(measure for measure, _, _ in new):
            met[measure] = [(op, node) for op, node in met[measure] if graphs.has(place, node)]
            ops, (_, ends) = [op for op, _ in met[measure]], measure
            halves = [op for op in ops if len(_constants(analysis, op)) == 1]
            wholes = [op for op in ops if not _constants(analysis, op)]
            if len(ops) == 2 and len(halves) == len(wholes) == 1 and wholes[0].site not in told:
                told.add(wholes[0].site)
                (moved,) = _constants(analysis, halves[0])
                (other,) = ends - {moved}
                yield MeasuredTwice(wholes[0], halves[0], moved, other)


def _terms(analysis: Analysis, nodes: list[Node]) -> Iterator[tuple[_Measure, Op, int]]:
    """The ops among some nodes that measure how far two ends that learn are apart, in program order."""
    capture = analysis.capture
    for index, node in sorted({node.op: node.index for node in nodes if node.op >= 0}.items()):
        op = capture.ops[index]
        if is_a(op.name, OpKind.MEASURES) and not op.has(Trait.BACKWARD) and len(op.inputs) == 2:
            ends = frozenset(_origin(analysis, tensor) for tensor in op.inputs)
            if len(ends) == 2 and all(capture.tensors[end].requires_grad for end in ends):
                yield (op.name, ends), op, node


def _constants(analysis: Analysis, op: Op) -> set[int]:
    """The ends that a term reads without their graph."""
    tensors = analysis.capture.tensors
    return {_origin(analysis, read) for read in op.inputs if not tensors[read].requires_grad}


def _origin(analysis: Analysis, tensor: int) -> int:
    """What a term's operand is, before it was viewed or detached."""
    made = analysis.flow.birth(tensor)
    while made is not None and is_a(made.name, _SAME | OpKind.DETACHES) and made.inputs and not made.writes:
        tensor = made.inputs[0]
        made = analysis.flow.birth(tensor)
    return tensor
