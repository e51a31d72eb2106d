"""By what the program keeps a tensor from one round to the next, and the line that puts it there."""

from __future__ import annotations

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op
from autograd_inspector.model.program_events import TensorHeld
from autograd_inspector.source.fragments import uncommented


def kept_by(analysis: Analysis, tensor: int) -> TensorHeld | None:
    """What held the tensor; else what held another result of the line that made it, of which it was the one before."""
    events = analysis.capture.events_of(TensorHeld)
    direct = next((event for event in events if event.tensor == tensor), None)
    made = analysis.flow.birth(tensor)
    if direct is not None or made is None:
        return direct
    place = made.outputs.index(tensor) if tensor in made.outputs else -1
    return next((event for event in events if _alike(analysis, event.tensor, made, place)), None)


def _alike(analysis: Analysis, tensor: int, made: Op, place: int) -> bool:
    """Whether the same statement made it, as the same of its results; parts of one result are not told apart."""
    other = analysis.flow.birth(tensor)
    if other is None or (other.site, other.name) != (made.site, made.name):
        return False
    return is_a(made.name, OpKind.SPLITS) or place < 0 or other.outputs[place : place + 1] == (tensor,)


def kept_places(analysis: Analysis, held: TensorHeld | None) -> tuple[Location, ...]:
    """The line that stored it."""
    return () if held is None else analysis.user_frames(held.site, "kept with its graph here")


def kept_as(held: TensorHeld | None, name: str) -> str:
    """By what something of that name is kept, in commas, where the name does not say so itself."""
    own = held is None or name.rpartition(".")[2].partition("[")[0] == held.name
    return "" if own or held is None else f", stored in {held.api},"


def stored_detached(analysis: Analysis, held: TensorHeld | None, call: str) -> str:
    """How to store it without its graph, "" where the line is not known: an attribute, or a part of one."""
    place = None if held is None else analysis.capture.place(held.site)
    if held is None or place is None or not place.source or held.name == CACHED:
        return ""
    return f"call {call} on the value that `{uncommented(place.source).rstrip()}` stores in {held.api}"


CACHED = "cached"
"""torch's ``parametrize.cached()``, which is no variable of the program's."""


def siblings_cut_off(analysis: Analysis, reader: Op, made: Op | None) -> list[Op]:
    """Where what the same call returned beside the tensor was detached for the same reader: (h.detach(), c)."""
    births = [op for op in map(analysis.flow.birth, reader.inputs) if op is not None]
    outputs = () if made is None else made.outputs
    return [op for op in births if is_a(op.name, OpKind.DETACHES) and op.inputs and op.inputs[0] in outputs]
