"""Custom backwards that compute with what another call of their Function kept: on the class, where each call overwrites it."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import OtherCallRead


class MixedCall(Struct, frozen=True):
    """``read`` computes, of a tensor of another call, what is returned as a gradient; ``made`` made it in that call's forward.

    None: that call was given it.
    """

    event: OtherCallRead
    read: Op
    made: Op | None


def mixed_calls(analysis: Analysis) -> Iterator[MixedCall]:
    """Each Function once, where each call keeps a tensor of its own; what the first call makes for all of them is shared."""
    capture = analysis.capture
    for event in capture.events_of(OtherCallRead):
        if event.applied < 0 or event.kept_by < 0:
            continue
        tensor, other = event.tensors[0], capture.ops[event.kept_by]
        made = None if tensor in other.inputs else analysis.flow.birth(tensor)
        read = next((op for op in capture.ops[event.at : event.until] if tensor in op.inputs), None)
        own = made is None or _made_alike(analysis, made, event.applied)
        if read is not None and own and _of_an_input(analysis, other, made) and _returned(capture, event):
            yield MixedCall(event, read, made)


def _made_alike(analysis: Analysis, made: Op, applied: int) -> bool:
    """Whether the forward of that call computed the same as another one did, at the same line."""
    line = line_of(analysis, made.site)
    return any(
        op.name == made.name and line_of(analysis, op.site) == line for op in _forward(analysis.capture, applied)
    )


def _forward(capture: Capture, applied: int) -> Iterator[Op]:
    """The ops of one call's forward, the last first."""
    at = applied - 1
    while at >= 0 and capture.ops[at].has(Trait.INNER):
        yield capture.ops[at]
        at -= 1


def _of_an_input(analysis: Analysis, applied: Op, made: Op | None) -> bool:
    """Whether what an op made was computed from something that the call was given."""
    todo = [made] if made is not None else []
    seen = {op.index for op in todo}
    while todo:
        for read in todo.pop().inputs:
            if read in applied.inputs:
                return True
            before = analysis.flow.birth(read)
            if before is not None and before.has(Trait.INNER) and before.index not in seen:
                seen.add(before.index)
                todo.append(before)
    return made is None


def _returned(capture: Capture, event: OtherCallRead) -> bool:
    """Whether a gradient that was returned was computed from it."""
    reached = set(event.tensors)
    for op in capture.ops[event.at : event.until]:
        if not reached.isdisjoint(op.inputs):
            reached.update(op.outputs, (write.tensor for write in op.writes))
    return not reached.isdisjoint(event.returned)
