"""Where what a function computed enters the loss: the first line of another function that computes with it."""

from __future__ import annotations

from collections.abc import Sequence

from autograd_inspector.analysis.dataflow import DataFlow
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op


def handed_over(capture: Capture, flow: DataFlow, made: Sequence[Op], run: Backward) -> Op | None:
    """The op that reads, for the loss, what these computed: of a function that none of theirs calls.

    What ran while grad mode was off belongs to them as well, where they did. None where their own function, or one that
    it calls, computes the loss.
    """
    own = {op.index: op for op in made}
    above = {
        op.index: op
        for op, _ in flow.upstream([(root, run.start) for root in run.roots], lambda op, _: op.index not in own)
    }
    first = next((op for index, op in own.items() if index in above), None)
    scope = None if first is None else _scope(capture, first)
    if first is None or scope is None:
        return None
    off, live = capture.regions[first.region].kind != "enabled", set[int]()
    for index in sorted(above):
        op = above[index]
        if index not in own and live.isdisjoint(op.inputs):
            continue
        within = index in own or (off and capture.regions[op.region].kind != "enabled")
        if not within and not op.writes and all(frame.scope != scope for frame in capture.site(op.site)):
            return op
        live.update(op.outputs)
    return None


def _scope(capture: Capture, op: Op) -> tuple[str, str] | None:
    place = capture.place(op.site)
    return None if place is None else place.scope
