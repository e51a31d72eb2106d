"""Sums that begin with zeros and get no term added: each round replaces what the round before had computed.

The zeros are read by nothing, and neither is what the same call returned in each round but the last one.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradient_cuts.leaves_above import Leaves
from autograd_inspector.analysis.op_kinds import OpKind
from autograd_inspector.analysis.ops_of import ops_of
from autograd_inspector.model.op import Op, Trait

_ASIDE = Trait.STEP | Trait.EXPORT | Trait.COLLECTIVE


class ReplacedTerms(Struct, frozen=True):
    """Nothing reads the ``zeros``, nor what the call returned in the rounds ``lost``; ``last`` is used.

    ``starved``: parameters that it was computed with, and that get no gradient at all.
    """

    zeros: Op
    lost: tuple[Op, ...]
    last: Op
    starved: tuple[int, ...]


def replaced_terms(analysis: Analysis) -> Iterator[ReplacedTerms]:
    """Of what parameters starve without, and of gradients that a backward computes."""
    capture = analysis.capture
    unread = _Unread(analysis)
    zeros = [op for op in ops_of(capture, OpKind.RETURNS_ZEROS) if unread(op)]
    if not zeros or not (capture.steps or capture.backwards):
        return
    told: set[int] = set()
    for op, following in zip(zeros, [*zeros[1:], None], strict=True):
        end = len(capture.ops) if following is None else following.index
        for calls in _repeated(analysis, op, end):
            if calls[0].site in told:
                continue
            *lost, last = calls
            if all(map(unread, lost)) and (last.has(Trait.BACKWARD) or not unread(last)):
                found = _judged(analysis, op, lost, last)
                if found is not None:
                    told.add(last.site)
                    yield found


class _Unread:
    """Whether a result was of use to nothing that is known."""

    def __init__(self, analysis: Analysis) -> None:
        capture = analysis.capture
        self._used = {*capture.begun, *capture.alive, *capture.readers}
        self._used |= {weight for run in capture.backwards for weight in run.weights}
        self._used |= {write.gradient for write in capture.grad_writes}
        self._tensors = capture.tensors

    def __call__(self, op: Op) -> bool:
        return (
            not op.writes
            and bool(op.outputs)
            and self._used.isdisjoint(op.outputs)
            and not any(self._tensors[tensor].of_model for tensor in op.outputs)
        )


def _repeated(analysis: Analysis, zeros: Op, end: int) -> Iterator[list[Op]]:
    """The calls of one place that return what has the shape of the zeros, again and again, behind them."""
    tensors, by_site = analysis.capture.tensors, dict[int, list[Op]]()
    shape = tensors[zeros.outputs[0]].shape
    for op in analysis.capture.ops[zeros.index + 1 : end]:
        alike = len(op.outputs) == 1 and bool(op.inputs) and tensors[op.outputs[0]].shape == shape
        if alike and not op.writes and not op.has(_ASIDE) and op.has(Trait.BACKWARD) == zeros.has(Trait.BACKWARD):
            by_site.setdefault(op.site, []).append(op)
    yield from (calls for calls in by_site.values() if len(calls) > 1)


def _judged(analysis: Analysis, zeros: Op, lost: list[Op], last: Op) -> ReplacedTerms | None:
    """None where nothing learns by what was lost, and it may well be that only the last one is asked for.

    Also where backward() runs from the last one itself: a loss that is computed several times for each step.
    """
    if not analysis.capture.begun.isdisjoint(last.outputs):
        return None
    leaves = Leaves(analysis.capture, analysis.flow)
    computed_with = dict.fromkeys(tensor for op in lost for tensor in leaves.above(op))
    starved = tuple(tensor for tensor in computed_with if tensor in analysis.without_gradient)
    if starved or _summed_in_backward(analysis, lost):
        return ReplacedTerms(zeros, tuple(lost), last, starved)
    return None


def _summed_in_backward(analysis: Analysis, lost: list[Op]) -> bool:
    """Whether gradients went into them that a custom Function's backward had asked autograd for."""
    return all(
        op.has(Trait.BACKWARD)
        and any((made := analysis.flow.birth(tensor)) is not None and made.has(Trait.BACKWARD) for tensor in op.inputs)
        for op in lost
    )
