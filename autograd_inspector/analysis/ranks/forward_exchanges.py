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
    """``run`` differentiates what ``call`` has summed as if it were this rank's own; ``tensors`` went into it.

    ``gathered``: the call brought the shares, and the program sums them itself.
    """

    call: Communicated
    run: Backward
    wrapper: ReplicasWrapped
    tensors: tuple[int, ...]
    gathered: bool = False


def shares_lost(capture: Capture, reductions: Reductions) -> Iterator[SharesLost]:
    """For each line the first, where replicas compute with data of their own: their losses are not the same.

    Nothing of the loss itself, or of what is computed from that: a wrapper averages the gradients of its terms.
    """
    calls = [event for event in reductions.exchanges.calls if _sums_history(capture, event)]
    gathers = {event.nth: event for event in reductions.exchanges.calls if _gathers_history(capture, reductions, event)}
    calls += gathers.values()
    met: set[int] = set()
    for run in capture.backwards[:_MOST] if calls else ():
        wrapper = next((reductions.wrapper_of[t] for t in run.reached if t in reductions.wrapper_of), None)
        near = [call for call in calls if call.at < run.start and call.site not in met]
        if wrapper is None or not near:
            continue
        above = ancestors(capture, run.roots)
        losses = reductions.on_the_way_to(run)
        for call in near:
            gathered = call.nth in gathers
            if gathered:
                used = [
                    t for t in call.tensors[-1:] if t not in losses and _summed_behind(capture, reductions, call, above)
                ]
            else:
                used = [t for t in call.tensors if t not in losses and read_behind(capture, call, t, above)]
            if call.world == wrapper.world == capture.world_size and used and call.site not in met:
                below = {t for op in ancestors(capture, used) for t in capture.ops[op].inputs}
                tensors = tuple(t for t in run.reached if t in reductions.wrapper_of and t in below)
                if tensors or not gathered:  # What the backward does not reach at all is told as cut off.
                    met.add(call.site)
                    yield SharesLost(call, run, wrapper, tensors, gathered)


def _sums_history(capture: Capture, call: Communicated) -> bool:
    """Whether a call sums in place what was computed from something that learns, where autograd does not see it."""
    if call.op not in {"sum", "avg"} or call.inside or call.results or not is_a(call.name, OpKind.REDUCES_RANKS):
        return False
    tensors = (capture.tensors[tensor] for tensor in call.tensors)
    return any(tensor.requires_grad and not tensor.leaf and tensor.birth >= 0 for tensor in tensors)


def _gathers_history(capture: Capture, reductions: Reductions, call: Communicated) -> bool:
    """Whether a call gives all ranks a tensor of this one that was computed from something that learns."""
    if call.op or call.inside or call.results or not reductions.exchanges.received(call) or len(call.tensors) < 2:
        return False
    if is_a(call.name, OpKind.POINT_TO_POINT):
        return False
    own = capture.tensors[call.tensors[-1]]
    return own.requires_grad and not own.leaf and own.birth >= 0


def _summed_behind(capture: Capture, reductions: Reductions, call: Communicated, above: set[int]) -> bool:
    """Whether what a call brought, this rank's own share with it, is added up on the way to a loss: a sum over the ranks."""
    came = set(reductions.exchanges.received(call))
    if len(came) > 1 and len(came) < call.world:
        return False
    shares = set(came)
    for op in capture.ops[call.at + 1 :]:
        met = shares.intersection(op.inputs)
        if not met or op.index not in above:
            continue
        added = is_a(op.name, OpKind.ADDS) and (len(met) > 1 or len(op.inputs) == 1)
        if added or (is_a(op.name, OpKind.REDUCES) and (len(came) == 1 or came <= shares)):
            return came <= shares
        if is_a(op.name, OpKind.STACKS | OpKind.CONCATENATES) and not came <= set(op.inputs):
            return False  # This rank's share is another tensor, perhaps, which has a gradient.
        if is_a(op.name, OpKind.STACKS | OpKind.CONCATENATES | OpKind.VIEWS):
            shares.update(op.outputs)
    return False


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
