"""AG106: what an optimizer has to learn of a model, and what the forward of that model went past."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.location import Location, dedupe_locations
from autograd_inspector.model.op import Op

_MOST = 2


def bypassed(analysis: Analysis, run: Backward, above: Iterable[Op]) -> tuple[tuple[int, ...], tuple[Location, ...]]:
    """(parameters that require grad and are optimized, of a model that the loss came from without them; its calls).

    An adapter that is switched off, a branch that is not taken.
    """
    capture = analysis.capture
    ops = list(above)
    read = {tensor for op in ops for tensor in op.inputs}
    roots = {capture.owners[tensor] for tensor in read if tensor in capture.owners}
    left = tuple(
        tensor
        for tensor in sorted(capture.optimized)
        if capture.owners.get(tensor, -1) in roots
        and tensor not in read
        and analysis.lifecycle.requires_grad_at(tensor, run.start)
    )
    if not left or any(tensor in capture.optimized for tensor in read):
        return (), ()
    owners = {capture.owners[tensor] for tensor in left}
    numbers = {op.call for op in ops if op.call >= 0 and capture.regions[op.region].kind == "enabled"}
    outer = {call.id: call for call in map(capture.outermost_call, sorted(numbers))}
    calls = [call for call in outer.values() if call.root in owners]
    return left, dedupe_locations(
        place for call in calls[:_MOST] for place in analysis.user_frames(call.site, "called without them here")
    )
