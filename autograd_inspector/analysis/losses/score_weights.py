"""The factors that log-probabilities of drawn actions are multiplied by, where they carry the graph of another network.

``-(log_prob * advantage).mean()`` estimates the gradient of an expectation: the factor is a number in it. With its graph
the loss is lowered by making the factor itself larger.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.gradient_cuts.classifier import differentiable
from autograd_inspector.analysis.gradient_cuts.leaves_above import Leaves
from autograd_inspector.analysis.gradients.sources import GradientSources
from autograd_inspector.analysis.losses.walks import is_light
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import any_of, differentiated
from autograd_inspector.model.op import Op, Trait

_HANDED_ON = (
    OpKind.VIEWS
    | OpKind.CONVERTS
    | OpKind.COPIES
    | OpKind.STACKS
    | OpKind.CONCATENATES
    | OpKind.DETACHES
    | OpKind.REWRAPS
    | OpKind.BROADCASTS
    | OpKind.CASTS_TO_INTEGER
    | OpKind.CLAMPS
)
_MOST = 400
"""So many ops are looked at behind a factor."""


class ScoreWeight(Struct, frozen=True):
    """``product`` multiplies the log-probability of what was drawn by ``weight``.

    ``parameters`` compute the weight, and a step uses the gradient that they get of it.
    """

    product: Op
    weight: int
    parameters: tuple[int, ...]


def score_weights(analysis: Analysis, sources: GradientSources) -> Iterator[ScoreWeight]:
    """Each line once."""
    capture, leaves = analysis.capture, Leaves(analysis.capture, analysis.flow)
    if not any_of(capture, OpKind.DRAWS | OpKind.SELECTS):
        return
    told: set[object] = set()
    stepped: dict[int, frozenset[int]] | None = None
    for op in differentiated(capture, OpKind.MULTIPLIES):
        index = op.index
        if op.has(Trait.BACKWARD) or len(op.inputs) != 2:
            continue
        if not all(capture.tensors[tensor].requires_grad for tensor in op.inputs):
            continue
        line = line_of(analysis, op.site)
        for score, weight in (op.inputs, op.inputs[::-1]) if line not in told else ():
            scoring = set(leaves.of(score, index))
            others = set(leaves.of(weight, index)) - scoring
            if not others and _contains(analysis, weight, score, index):
                others = scoring  # A penalty on the log-probability, as a part of the reward.
            if others and scoring and _weighs(analysis, score, weight, index, scoring):
                if stepped is None:
                    stepped = _stepped(analysis, sources)
                used = others & _used(analysis, stepped, index)
                if used:
                    told.add(line)
                    yield ScoreWeight(op, weight, tuple(sorted(used)))


def _contains(analysis: Analysis, weight: int, score: int, index: int) -> bool:
    """Whether a factor was computed, with its graph, of the very log-probability that it multiplies, and of others."""
    tensors = analysis.capture.tensors
    way = analysis.flow.upstream(
        [(weight, index)], lambda op, made: is_light(op.name) and tensors[made].requires_grad and not op.has(Trait.CUT)
    )
    return weight != score and any(
        score in op.inputs and is_a(op.name, OpKind.SUBTRACTS | OpKind.ADDS) for op, _ in islice(way, _MOST)
    )


def _used(analysis: Analysis, stepped: dict[int, frozenset[int]], index: int) -> frozenset[int]:
    """The parameters that steps used gradients for of the runs through an op."""
    runs = (run for run in analysis.timeline.backwards.all if any(node.op == index for node in analysis.nodes_of(run)))
    return frozenset[int]().union(*(stepped.get(run.index, frozenset()) for run in runs))


def _stepped(analysis: Analysis, sources: GradientSources) -> dict[int, frozenset[int]]:
    """Run -> the parameters that some step used its gradients for."""
    used: dict[int, set[int]] = {}
    for step in analysis.capture.steps:
        for consumed in sources.of(step) if not step.error else ():
            for contribution in consumed.contributions:
                used.setdefault(contribution.run.index, set()).add(consumed.tensor)
    return {run: frozenset(tensors) for run, tensors in used.items()}


def _weighs(analysis: Analysis, score: int, weight: int, index: int, parameters: set[int]) -> bool:
    """Whether the score is the log-probability of a sample; of given actions it is so where it is weighted by an error.

    That a network fits the same values by a loss of its own tells that it is not to learn them by the weight as well.
    """
    if _is_score(analysis, score, index, parameters):
        return True
    return _is_of_choices(analysis, score, index) and _is_error_of_fit(analysis, weight, index)


def _is_of_choices(analysis: Analysis, score: int, before: int) -> bool:
    """Whether it is the entries of a log-softmax at given indices."""
    above = analysis.flow.upstream([(score, before)], lambda made, _: is_light(made.name))
    chosen = False
    for op, _ in islice(above, _MOST):
        dtypes = [analysis.capture.tensors[read].dtype for read in op.inputs]
        chosen = chosen or (is_a(op.name, OpKind.SELECTS) and not all(map(differentiable, dtypes)))
        if is_a(op.name, OpKind.SOFTMAX) and is_a(op.name, OpKind.LIKELIHOOD):
            return chosen
    return False


def _is_error_of_fit(analysis: Analysis, weight: int, before: int) -> bool:
    """Whether it is the difference of a constant and a prediction that another term of a loss fits to that constant."""
    capture = analysis.capture
    for op, _ in islice(analysis.flow.upstream([(weight, before)], lambda made, _: is_light(made.name)), _MOST):
        trained = [read for read in op.inputs if capture.tensors[read].requires_grad]
        if not is_a(op.name, OpKind.SUBTRACTS) or len(op.inputs) != 2 or len(trained) != 1:
            continue
        for reader in map(capture.ops.__getitem__, capture.readers.get(trained[0], ())):
            fits = is_a(reader.name, OpKind.MEASURES | OpKind.TARGETED)
            if fits and not reader.has(Trait.BACKWARD) and set(op.inputs) <= set(reader.inputs):
                return True
    return False


def _is_score(analysis: Analysis, score: int, before: int, parameters: set[int]) -> bool:
    """Whether it was computed of something that was drawn from a distribution of the same parameters, as a constant."""
    tensors, flow = analysis.capture.tensors, analysis.flow
    above = flow.upstream([(score, before)], lambda made, _: is_light(made.name))
    for op, _ in islice(above, _MOST):
        if not is_light(op.name) or not any(differentiable(tensors[made].dtype) for made in op.outputs):
            continue  # An op that makes an index is asked for where the index is used.
        for read in op.inputs:
            if tensors[read].requires_grad or _picks_rows(analysis, op, read):
                continue
            if _drawn(analysis, read, op.index, parameters):
                return True
    return False


def _picks_rows(analysis: Analysis, op: Op, index: int) -> bool:
    """Whether what was drawn chooses whole rows (the neighbours of a node), not one number for each draw."""
    tensors = analysis.capture.tensors
    if not is_a(op.name, OpKind.SELECTS | OpKind.RENORMALISES) or differentiable(tensors[index].dtype):
        return False
    return any(len(tensors[made].shape) > len(tensors[index].shape) for made in op.outputs)


def _drawn(analysis: Analysis, tensor: int, before: int, parameters: set[int]) -> bool:
    handed_on = analysis.flow.upstream([(tensor, before)], lambda made, _: is_a(made.name, _HANDED_ON))
    for op, _ in islice(handed_on, _MOST):
        if is_a(op.name, OpKind.DRAWS):
            reads = analysis.flow.upstream([(read, op.index) for read in op.inputs])
            return any(not parameters.isdisjoint(above.inputs) for above, _ in reads)
    return False
