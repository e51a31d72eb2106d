"""Samples that hide a path: ``sample()`` where ``rsample()`` is meant, while another term still reaches the parameters."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradient_cuts.classifier import SAMPLING, is_cut
from autograd_inspector.analysis.gradient_cuts.harmful import stepped_with
from autograd_inspector.analysis.gradient_cuts.leaves_above import Leaves
from autograd_inspector.analysis.gradient_cuts.scored_samples import ScoredSamples
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import ops_of
from autograd_inspector.analysis.signed_sums import SUMS
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.op import Op

_LINEAR = (
    OpKind.ADDS | OpKind.SUBTRACTS | OpKind.MULTIPLIES | OpKind.DIVIDES | OpKind.NEGATES | OpKind.REDUCES
    | OpKind.CONVERTS | OpKind.RESHAPES
)  # fmt: skip


class Draw(Struct, frozen=True):
    """An op of a ``sample()``, the parameters of the distribution that it hides, and the backward that shows it."""

    op: Op
    parameters: tuple[int, ...]
    backward: Backward


def half_hidden(analysis: Analysis) -> Iterator[Draw]:
    """Samples that a loss is computed from, of a distribution whose parameters it reaches by another way alone.

    Whoever trains through ``log_prob(sample)`` means it, unless a term of the same loss judges the sample by a network
    that is not stepped then: without a way through the sample, that term is a constant for what is. One draw a line.
    """
    capture = analysis.capture
    drawing = {region.id for region in capture.regions if region.library.startswith(SAMPLING)}
    drawing -= {op.region for op in ops_of(capture, OpKind.DRAWS_DISCRETE)}
    if not drawing:
        return
    leaves = Leaves(capture, analysis.flow)
    samples = ScoredSamples(leaves)
    reported_sites: set[int] = set()
    for run in capture.backwards:
        if not run.completed or run.nested_in >= 0:
            continue
        stepped_parameters = {
            tensor for held in stepped_with(capture, run) for tensor in held
        } or analysis.optimized_trainable
        learning = stepped_parameters.intersection(run.reached).difference(run.empty)
        starts = [(root, run.start) for root in run.roots]
        ways = analysis.flow.upstream(starts, lambda op, t: op.region in drawing or not is_cut(capture, op, t))
        for op, through in ways:
            if op.region not in drawing or op.site in reported_sites or not is_cut(capture, op, through):
                continue
            hidden = tuple(t for t in leaves.above(op) if t in learning)
            if hidden and (
                not samples.scored(op, hidden, len(capture.ops))
                or _judged(analysis, leaves, run, op, stepped_parameters)
            ):
                reported_sites.add(op.site)
                yield Draw(op, hidden, run)


def _judged(analysis: Analysis, leaves: Leaves, run: Backward, drawn: Op, stepped: Collection[int]) -> bool:
    """Whether a term of the loss is computed of the sample, and has gradient for nothing that is stepped."""
    capture, flow = analysis.capture, analysis.flow

    def uncut(op: Op, tensor: int) -> bool:
        return not is_cut(capture, op, tensor)

    todo, seen = [(root, run.start) for root in run.roots], set[int]()
    while todo:
        tensor, before = todo.pop()
        for index in flow.producers(tensor, before):
            op = capture.ops[index]
            learning = [t for t in op.inputs if capture.tensors[t].requires_grad]
            if index in seen or not is_a(op.name, _LINEAR) or (len(learning) > 1 and not is_a(op.name, SUMS)):
                continue
            seen.add(index)
            todo += [(t, index) for t in learning]
            for term in learning if is_a(op.name, SUMS) else ():
                above = leaves.of(term, index)
                if above and not set(above) & set(stepped):
                    ways = flow.upstream([(term, index)], uncut)
                    if any(way.region == drawn.region for way, _ in ways):
                        return True
    return False
