"""Terms of a loss that carry no gradient: ``loss = main + 0.1 * penalty``, where the penalty lost its graph.

Backward runs and every parameter gets a gradient, from the other terms: nothing but the values of the gradients tells.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from msgspec.structs import replace

from autograd_inspector.analysis.dataflow import DataFlow
from autograd_inspector.analysis.gradient_cuts.classifier import Cause, GradientCut, differentiable, is_cut
from autograd_inspector.analysis.gradient_cuts.harmful import group_by_cause, is_state, stepped_with
from autograd_inspector.analysis.gradient_cuts.kept_over_runs import is_kept_over_runs, reached_from, unexplained
from autograd_inspector.analysis.gradient_cuts.leaves_above import Leaves
from autograd_inspector.analysis.gradient_cuts.places import place_of
from autograd_inspector.analysis.gradient_cuts.python_scalars import numbers_in
from autograd_inspector.analysis.gradient_cuts.received_terms import Received, received_in, receives
from autograd_inspector.analysis.gradient_cuts.taught_instead import faces_results
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait

_JOINS = OpKind.CONCATENATES | OpKind.STACKS
_SUMS = OpKind.ADDS | OpKind.SUBTRACTS | _JOINS
_SCALES = OpKind.MULTIPLIES | OpKind.DIVIDES | OpKind.NEGATES | OpKind.CONVERTS | OpKind.RESHAPES
_WAYS = _SUMS | _SCALES | OpKind.REDUCES


Term = tuple[Op, int]
"""The op that adds, and the tensor without gradient that it adds (-1: a number)."""


def constant_terms(
    capture: Capture,
    flow: DataFlow,
    meant: frozenset[int],
    harmful: Collection[GradientCut],
    unmoved: frozenset[int] = frozenset(),
) -> tuple[GradientCut, ...]:
    """The cuts behind terms of a loss that lead to what is meant to learn and bring it nothing, one a line.

    ``harmful``: the cuts that starve. A term that one of these leads to has a gradient once that is repaired, and
    whatever else is detached in it (a target, a weight) may be meant. ``unmoved``: parameters that get gradients and
    that nobody means to learn: a term that leads to these alone brings nothing to anybody.
    """
    leaves = Leaves(capture, flow)
    runs = [r for r in capture.completed_runs if r.nested_in < 0]
    terms: list[list[Term]] = []
    since = [0, *(run.end for run in runs)]
    for run, start in zip(runs, since, strict=False):
        terms.append(list(_terms(capture, leaves, run, start, meant, unmoved)))
    # What was computed once, and is added in every step, is a constant by intention.
    explained = reached_from(
        capture,
        (*(tensor for cut in harmful for tensor in cut.through), *_given_numbers(capture, flow, harmful)),
        min((op.index for cut in harmful for op in cut.ops), default=len(capture.ops)),
    )
    terms = [[(op, t) for op, t in run_terms if t not in explained] for run_terms in terms]
    if receives(capture):
        # Of a term of what another rank has sent, whatever is detached in it as well is a weight.
        terms = [
            [(op, t) for op, t in run_terms if t < 0 or not received_in(capture, flow, t, op.index)]
            for run_terms in terms
        ]
    uses = Counter(tensor for run_terms in terms for tensor in {tensor for _, tensor in run_terms})
    cuts_by_place: dict[tuple[Cause, str, int], list[GradientCut]] = {}
    for run, start, run_terms in zip(runs, since, terms, strict=False):
        tensors = [(op, tensor) for op, tensor in run_terms if tensor >= 0 and uses[tensor] == 1]
        numbers = [op for op, tensor in run_terms if tensor < 0]
        exports = [op for op in capture.ops[start : run.start] if op.has(Trait.EXPORT)] if numbers else []
        for cut in (
            *_as_tensors(capture, flow, leaves, run, start, tensors, meant, unmoved),
            *numbers_in(capture, flow, exports, numbers, run, meant),
        ):
            cuts_by_place.setdefault((cut.cause, *place_of(capture, cut.ops[0], cut.cause)), []).append(cut)
    # The latest is nearest to the loss: while it is there, nothing comes of taking away one behind it, which may be meant
    # (what a policy did is a constant in its loss). One beside it that nobody wrote down, the graph that the slope of an
    # input lacks, comes before a `detach()` that somebody did.
    nearest: list[GradientCut] = []
    for cut in sorted(map(_one, cuts_by_place.values()), key=lambda cut: -cut.ops[0].index):
        if not _is_behind(flow, cut, nearest, since):
            nearest.append(cut)
    return tuple(sorted(nearest, key=lambda cut: cut.ops[0].name != "grad" or _of_parameters(capture, cut.ops[0])))


def received_terms(capture: Capture, flow: DataFlow, meant: frozenset[int]) -> Iterator[Received]:
    """Of the last backward, the terms that are constants because another rank computed what they are made of."""
    leaves = Leaves(capture, flow)
    runs = [run for run in capture.completed_runs if run.nested_in < 0]
    spans = [*zip(runs, [0, *(run.end for run in runs)], strict=False)] if receives(capture) else []
    for run, start in spans[-1:]:
        for op, tensor in _terms(capture, leaves, run, start, meant, frozenset()):
            found = received_in(capture, flow, tensor, op.index) if tensor >= 0 else None
            if found is not None and not capture.tensors[tensor].requires_grad:
                yield found


def _given_numbers(capture: Capture, flow: DataFlow, cuts: Collection[GradientCut]) -> Iterator[int]:
    """The results of ops that were given a number which one of the cuts took out of torch."""
    left = {op.index for cut in cuts for op in cut.ops if op.has(Trait.EXPORT)}
    for index, exports in flow.exports.items() if left else ():
        if not left.isdisjoint(exports):
            yield from capture.ops[index].outputs


def _of_parameters(capture: Capture, op: Op) -> bool:
    """Whether it asked for the gradients of parameters: as a weight, a Fisher information, they are numbers."""
    return any(capture.tensors[tensor].kind == "parameter" for tensor in op.inputs)


def _is_behind(flow: DataFlow, cut: GradientCut, others: Collection[GradientCut], since: Sequence[int]) -> bool:
    """Whether what a cut let through last went into another one before the next backward; ``since``: where these end."""
    last = cut.ops[-1].index
    start = max([each for each in since if each <= last], default=0)
    end = min([each for each in since if each > last], default=sys.maxsize)
    ops = [op for other in others for op in other.ops if last < op.index < end]
    above = flow.upstream([(tensor, op.index) for op in ops for tensor in op.inputs], lambda op, _: op.index >= start)
    return any(op.index == last for op, _ in above) if ops else False


def _one(cuts: list[GradientCut]) -> GradientCut:
    """The same line in all turns of a loop, or in all steps."""
    if len(cuts) == 1:
        return cuts[0]
    return replace(
        cuts[0],
        ops=tuple({op.index: op for cut in cuts for op in cut.ops}.values()),
        through=tuple(dict.fromkeys(tensor for cut in cuts for tensor in cut.through)),
        parameters=tuple(dict.fromkeys(tensor for cut in cuts for tensor in cut.parameters)),
    )


def _as_tensors(
    capture: Capture,
    flow: DataFlow,
    leaves: Leaves,
    run: Backward,
    since: int,
    terms: list[Term],
    meant: frozenset[int],
    unmoved: frozenset[int],
) -> Iterator[GradientCut]:
    # A penalty on samples of a generator is the critic's alone: of what is stepped by others nobody expects it.
    stepped = {tensor for held in stepped_with(capture, run) for tensor in held} or meant
    cuts = {}
    starts = [(tensor, op.index) for op, tensor in terms]
    if terms:  # A backward of another model may come in between: a generator's, whose samples the critic has scored.
        since = min(since, _last_moved(capture, run, stepped))
    ways = flow.upstream(starts, lambda op, _: not _leaves(op), lambda t: is_state(capture, t))
    for above, through in ways:
        if above.index >= since and is_cut(capture, above, through):
            lost = tuple(t for t in leaves.above(above) if t in meant and t in stepped)
            if lost:
                cuts[above, through] = lost
    grouped_cuts = unexplained(
        tuple(group_by_cause(capture, cuts, run, fatal=False)),
        lambda cut: is_kept_over_runs(capture, cut.through, cut.ops[-1].index),
    )
    # What is detached may be an index or a count later on: only where nothing else cuts is that to blame.
    otherwise = [cut for cut in grouped_cuts if cut.cause != "non-differentiable"]
    places = _places(flow, terms) if grouped_cuts else {}
    for cut in otherwise or grouped_cuts:
        first = min(places[op.index] for op in cut.ops if op.index in places)
        added, term = terms[first]
        if term < 0 or unmoved.isdisjoint(leaves.of(term, added.index)) or faces_results(capture, cut):
            yield replace(cut, added=added.index)


def _last_moved(capture: Capture, run: Backward, tensors: Collection[int]) -> int:
    """The op at which a step last moved some tensors, before a backward; 0: none has."""
    holders = {each.id for each in capture.placement.holding(tensors)}
    last = bisect_left(capture.steps, run.start, key=lambda step: step.start) if holders else 0
    earlier = (capture.steps[at] for at in range(last - 1, -1, -1))
    return next((step.start for step in earlier if step.optimizer in holders), 0)


def _leaves(op: Op) -> bool:
    """Whether a plain number, or a new tensor, is all that is left of what the op read."""
    return op.has(Trait.EXPORT) or is_a(op.name, OpKind.REWRAPS)


def _places(flow: DataFlow, terms: list[Term]) -> dict[int, int]:
    """Op -> the place of the first term that it leads to."""
    places: dict[int, int] = {}
    walked: set[tuple[int, int]] = set()

    def new(op: Op, tensor: int) -> bool:
        walked_before = (op.index, tensor) in walked
        walked.add((op.index, tensor))
        return not walked_before

    for place, (added, term) in enumerate(terms):
        for op, _ in flow.upstream([(term, added.index)], new):
            places.setdefault(op.index, place)
    return places


def _terms(
    capture: Capture, leaves: Leaves, run: Backward, since: int, meant: frozenset[int], unmoved: frozenset[int]
) -> Iterator[Term]:
    """Walk down the sums of one-element tensors that end in the loss."""
    flow = leaves.flow

    def constant(tensor: int, at: int) -> bool:
        """For what is meant to learn: a residual may still follow the coordinates that it is taken at."""
        if not capture.tensors[tensor].requires_grad:
            return True
        leaves_above = leaves.of(tensor, at)
        return leaves_above != () and all(
            t not in meant and (t in unmoved or capture.tensors[t].kind != "parameter") for t in leaves_above
        )

    todo = [(root, run.start) for root in run.roots]
    seen: set[int] = set()
    while todo:
        tensor, before = todo.pop()
        for index in flow.producers(tensor, before):
            op = capture.ops[index]
            if index in seen or index < since or op.has(Trait.BACKWARD) or not is_a(op.name, _WAYS):
                continue
            seen.add(index)
            read = [t for t in op.inputs if differentiable(capture.tensors[t].dtype)]
            todo += [(t, index) for t in read if capture.tensors[t].requires_grad and _goes_on(capture, flow, t, index)]
            if is_a(op.name, _SUMS):
                yield from ((op, t) for t in read if _single(capture, t) and constant(t, index))
                if len(op.inputs) == 1 and not is_a(op.name, _JOINS):
                    yield op, -1


def _goes_on(capture: Capture, flow: DataFlow, tensor: int, before: int) -> bool:
    """Behind a mean lie elements, not terms, unless they were stacked for it."""
    joined = all(is_a(capture.ops[index].name, _JOINS) for index in flow.producers(tensor, before))
    return joined or _single(capture, tensor)


def _single(capture: Capture, tensor: int) -> bool:
    return all(size == 1 for size in capture.tensors[tensor].shape)
