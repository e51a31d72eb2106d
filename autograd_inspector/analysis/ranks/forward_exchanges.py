"""Values of the forward that a plain collective sums over the ranks in place: the gradient knows of this rank's share alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ranks.reductions import Reductions
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Trait
from autograd_inspector.model.program_events import Communicated, ReplicasWrapped

_MOST = 64
"""Backwards that are looked at."""


class SharesLost(Struct, frozen=True):
    """``run`` differentiates what ``call`` has summed as if it were this rank's own; ``tensors`` went into it."""

    call: Communicated
    run: Backward
    wrapper: ReplicasWrapped
    tensors: tuple[int, ...]


def shares_lost(capture: Capture, reductions: Reductions) -> Iterator[SharesLost]:
    """For each line the first, where replicas compute with data of their own: their losses are not the same.

    Nothing of the loss itself, or of what is computed from that: a wrapper averages the gradients of its terms.
    """
    calls = [event for event in reductions.exchanges.calls if _sums_history(capture, event)]
    met: set[int] = set()
    for run in capture.backwards[:_MOST] if calls else ():
        wrapper = next((reductions.wrapper_of[t] for t in run.reached if t in reductions.wrapper_of), None)
        near = [call for call in calls if call.at < run.start and call.site not in met]
        if wrapper is None or not near:
            continue
        above = ancestors(capture, run.roots)
        losses = reductions.on_the_way_to(run)
        for call in near:
            used = [t for t in call.tensors if t not in losses and read_behind(capture, call, t, above)]
            if call.world == wrapper.world == capture.world_size and used and call.site not in met:
                met.add(call.site)
                below = {t for op in ancestors(capture, used) for t in capture.ops[op].inputs}
                tensors = tuple(t for t in run.reached if t in reductions.wrapper_of and t in below)
                yield SharesLost(call, run, wrapper, tensors)


def _sums_history(capture: Capture, call: Communicated) -> bool:
    """Whether a call sums in place what was computed from something that learns, where autograd does not see it."""
    if call.op not in {"sum", "avg"} or call.inside or call.results or not is_a(call.name, OpKind.REDUCES_RANKS):
        return False
    tensors = (capture.tensors[tensor] for tensor in call.tensors)
    return any(tensor.requires_grad and not tensor.leaf and tensor.birth >= 0 for tensor in tensors)


def ancestors(capture: Capture, tensors: Iterable[int]) -> set[int]:
    """The ops of the forward that some tensors were computed by."""
    todo, ops = list(tensors), set[int]()
    while todo:
        birth = capture.tensors[todo.pop()].birth
        if birth >= 0 and birth not in ops and not capture.ops[birth].has(Trait.BACKWARD):
            ops.add(birth)
            todo += capture.ops[birth].inputs
    return ops


def read_behind(capture: Capture, call: Communicated, tensor: int, above: set[int]) -> bool:
    """Whether one of these ops reads a tensor behind a call."""
    return any(reader > call.at and reader in above for reader in capture.readers.get(tensor, ()))
