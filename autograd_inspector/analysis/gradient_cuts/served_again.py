"""Values without a graph that a function stored in an earlier call, and that it hands out to each loss since then.

An evaluation before the training fills a cache: what the function computes from its parameters is never computed with
grad mode on.
"""

from __future__ import annotations

import itertools

from msgspec.structs import replace

from autograd_inspector.analysis.dataflow import DataFlow
from autograd_inspector.analysis.gradient_cuts.classifier import GradientCut
from autograd_inspector.analysis.gradient_cuts.cuts_behind import cuts_behind
from autograd_inspector.analysis.gradient_cuts.harmful import carries
from autograd_inspector.analysis.gradient_cuts.stopped import older, rounds_of
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op


def served_again(capture: Capture, flow: DataFlow, cut: GradientCut) -> GradientCut:
    """The cut, with the values that were kept of it where all rounds but the first use them."""
    holders = [o.id for o in capture.placement.holding(cut.parameters)]
    rounds = rounds_of(capture, holders[0]) if holders and _whole(cut) else []
    if len(rounds) <= 1:
        return cut
    first = rounds[0][0].start
    used = [older(capture, flow, runs, before[-1].end, first) for before, runs in itertools.pairwise(rounds)]
    ops = {op.index for op in cut.ops}
    kept = [
        tensor
        for tensor, at in used[-1].items()
        if all(tensor in others for others in used)
        and _by_one_function(capture, flow.birth(tensor), capture.ops[at])
        and any(
            behind.index in ops
            for (behind, _), _, _ in cuts_behind(capture, flow, [(tensor, at)], lambda op, t: carries(capture, op, t))
        )
    ]
    return replace(cut, kept=tuple(kept)) if kept else cut


def _whole(cut: GradientCut) -> bool:
    return not (cut.fatal or cut.partial or cut.kept or cut.added >= 0) and cut.cause in {"no_grad", "inference_mode"}


def _by_one_function(capture: Capture, made: Op | None, reader: Op) -> bool:
    """Whether one function of the program made the value and reads it."""
    places = [capture.place(op.site) for op in (made, reader) if op is not None]
    scopes = {place.scope for place in places if place is not None and place.function != "<module>"}
    return len(places) > 1 and len(scopes) == 1 and None not in places
