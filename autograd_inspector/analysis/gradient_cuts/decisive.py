"""Which of several cuts behind a loss without gradient is the one to repair."""

from __future__ import annotations

from collections.abc import Mapping

from autograd_inspector.analysis.dataflow import DataFlow
from autograd_inspector.analysis.gradient_cuts.classifier import Cause, Cut, cause_of, is_cut
from autograd_inspector.analysis.gradient_cuts.places import place_of
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op

_Key = tuple[Cause, tuple[str, int]]


def decisive(
    capture: Capture, flow: DataFlow, starts: list[tuple[int, int]], cuts: Mapping[Cut, tuple[int, ...]]
) -> dict[Cut, tuple[int, ...]]:
    """The cuts of those lines or blocks whose repair alone lets gradient through to a leaf; all, where none is enough.

    A stop-gradient, or a block of cached features, that lies behind another cut is none: what comes after it is cut off
    all the same.
    """

    def key(op: Op, cause: Cause) -> _Key:
        return cause, place_of(capture, op, cause)

    def open_to(op: Op, wanted: _Key) -> bool:
        """Whether an op is recorded once that is repaired: a stop-gradient under no_grad is none by itself."""
        kind = capture.regions[op.region].kind
        return kind == "enabled" or key(op, kind) == wanted

    def passes(op: Op, tensor: int, wanted: _Key) -> bool:
        cut = is_cut(capture, op, tensor)
        return open_to(op, wanted) and (not cut or key(op, cause_of(capture, op, tensor)) == wanted)

    keys = {(op, tensor): key(op, cause_of(capture, op, tensor)) for op, tensor in cuts}

    def enough(wanted: _Key) -> bool:
        ways = flow.upstream(starts, lambda op, t: passes(op, t, wanted))
        return any(keys.get(way) == wanted and cuts[way] and open_to(way[0], wanted) for way in ways)

    every = dict.fromkeys(keys.values())
    chosen = [one for one in every if enough(one)] if len(every) > 1 else []
    return {cut: kept for cut, kept in cuts.items() if not chosen or keys[cut] in chosen}
