"""Gradients that a custom backward asked autograd for, and returned in each other's place: autograd knows which is whose.

A backward that computes forward again calls ``torch.autograd.grad`` with copies of what was saved. These lie in the memory
of the inputs of forward, so each of the gradients belongs to one of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.op import Op
from autograd_inspector.model.program_events import GradientsReturned


class AskedExchanged(Struct, frozen=True):
    """``asked`` computed the gradients at ``one`` and ``other``, of those that were returned, each for the other's input."""

    event: GradientsReturned
    one: int
    other: int
    asked: Op


def asked_in_another_order(analysis: Analysis) -> Iterator[AskedExchanged]:
    """Each pair of one shape and dtype."""
    capture = analysis.capture
    events = [event for event in capture.events_of(GradientsReturned) if event.applied >= 0]
    asked = {run.start: run.reached for run in capture.backwards if run.api == "grad" and not run.error}
    for event in events if asked else ():
        inputs = [t for t in capture.ops[event.applied].inputs if capture.tensors[t].requires_grad]
        numbers = {_part(analysis, tensor): number for number, tensor in enumerate(inputs)}
        if len(inputs) != len(event.returned) or len(numbers) < len(inputs):
            continue
        owner: dict[int, tuple[int, Op]] = {}
        for op in capture.ops[event.at : event.until]:
            wanted = asked.get(op.index, ())
            if op.name == "grad" and len(wanted) == len(op.outputs):
                of = [numbers.get(_part(analysis, tensor), -1) for tensor in wanted]
                owner |= {gradient: (number, op) for gradient, number in zip(op.outputs, of, strict=True)}
        for one, other in combinations(range(len(inputs)), 2):
            first, second = (owner.get(event.returned[at]) for at in (one, other))
            kinds = {(capture.tensors[inputs[at]].shape, capture.tensors[inputs[at]].dtype) for at in (one, other)}
            if first is not None and second is not None and len(kinds) == 1 and (first[0], second[0]) == (other, one):
                yield AskedExchanged(event, one, other, first[1])


def _part(analysis: Analysis, tensor: int) -> tuple[int, int, int]:
    record = analysis.capture.tensors[tensor]
    return record.storage, record.offset, record.extent
