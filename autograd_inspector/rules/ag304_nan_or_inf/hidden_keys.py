"""AG304: attention in which a query may see no key."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op
from autograd_inspector.model.values import ValueFault


class HiddenKeys(Struct, frozen=True):
    """What to do about the mask that hides them, and where it was computed."""

    name: str
    fix: str
    places: tuple[Location, ...] = ()


def hidden_keys(analysis: Analysis, fault: ValueFault, op: Op, infinite: Sequence[Op]) -> HiddenKeys | None:
    """Attention that makes NaN of finite operands and of a mask; ``infinite`` set what it got to infinity, as masks do."""
    bad = [values for values in fault.inputs if not values.finite]
    tensors = analysis.capture.tensors
    made = {tensor for each in infinite for tensor in each.outputs}
    if not is_a(op.name, OpKind.ATTENDS) or not bad or any(values.nan for values in bad):
        return None
    if any(tensors[values.tensor].storage not in {tensors[t].storage for t in made} for values in bad):
        return None
    masks = [
        t for each in infinite if _same_line(analysis, each, op) for t in each.inputs if tensors[t].dtype == "bool"
    ]
    name = name_of(analysis, masks[0]) if masks else ""
    computed = analysis.flow.birth(masks[0]) if masks else None
    return HiddenKeys(
        name,
        _fix(name if name.isidentifier() else ""),
        () if computed is None else analysis.user_frames(computed.site, "mask computed here")[:1],
    )


def _fix(name: str) -> str:
    visible = f": `{name} & ~{name}.all(-1, keepdim=True)`" if name else ""
    return (
        f"{name or 'The mask'} hides all keys of a query, and a softmax over no key is NaN. Leave one key of each row visible"
        f"{visible}. Filling the result afterwards is too late for backward()."
    )


def _same_line(analysis: Analysis, one: Op, other: Op) -> bool:
    """Whether a library set it, in the call that the program makes on that line."""
    places = analysis.capture.place(one.site), analysis.capture.place(other.site)
    return places[0] is not None and places[1] is not None and places[0].line == places[1].line
