"""Values with a graph that a rank sends, and goes on with what others send it: no gradient comes back for what it sent."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ranks.forward_exchanges import ancestors, read_behind
from autograd_inspector.analysis.ranks.reductions import Reductions
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.program_events import Communicated

_MOST = 64
"""Backwards that are looked at."""


class SentGraph(Struct, frozen=True):
    """``run`` differentiates what ``received`` brought as a constant, and nothing what ``sent`` gave to another rank.

    ``tensors``: the parameters that went into what was sent.
    """

    sent: Communicated
    received: Communicated
    run: Backward
    tensors: tuple[int, ...]


def sent_graphs(capture: Capture, reductions: Reductions) -> Iterator[SentGraph]:
    """The first of each line that receives: messages that the program's own calls exchange within one forward."""
    calls = [c for c in reductions.exchanges.calls if is_a(c.name, OpKind.POINT_TO_POINT) and not c.inside]
    sends = [call for call in calls if is_a(call.name, OpKind.SENDS) and _has_graph(capture, call)]
    receives = [call for call in calls if is_a(call.name, OpKind.RECEIVES) and call.tensors]
    origin = reductions.exchanges.origin
    differentiated = {origin(root) for run in capture.backwards for root in run.roots} if sends else set[int]()
    met, start = set[int](), 0
    for run in capture.backwards[:_MOST] if sends and receives else ():
        above = ancestors(capture, run.roots)
        brought = [
            call
            for call in receives
            if start <= call.at < run.start and any(_constant(capture, call, t, above) for t in call.tensors)
        ]
        given = [call for call in sends if start <= call.at < run.start]
        start = run.start
        if not brought or not given or brought[0].site in met:
            continue
        sent = {tensor for call in given for tensor in call.tensors}
        if not differentiated.isdisjoint(map(origin, sent)):
            continue  # A stage of a pipeline, which gets the gradient of what it has sent.
        below = {tensor for op in ancestors(capture, sent) for tensor in capture.ops[op].inputs}
        tensors = tuple(t for t in sorted(below) if capture.tensors[t].kind == "parameter" and t in capture.optimized)
        if tensors:
            met.add(brought[0].site)
            yield SentGraph(given[0], brought[0], run, tensors)


def _has_graph(capture: Capture, call: Communicated) -> bool:
    tensors = (capture.tensors[tensor] for tensor in call.tensors)
    return any(tensor.requires_grad and not tensor.leaf and tensor.birth >= 0 for tensor in tensors)


def _constant(capture: Capture, call: Communicated, tensor: int, above: set[int]) -> bool:
    """Whether a loss is computed with what was received, which does not even ask for a gradient to send back."""
    return not capture.tensors[tensor].requires_grad and read_behind(capture, call, tensor, above)
