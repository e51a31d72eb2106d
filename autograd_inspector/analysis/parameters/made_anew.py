"""Parameters that a forward computes with copies of: the gradients go to these, which are others in each call."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msgspec.structs import replace

from autograd_inspector.analysis.dataflow import DataFlow
from autograd_inspector.analysis.gradient_cuts.classifier import GradientCut
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.parameters.lifecycle import ParameterLifecycle
from autograd_inspector.model.capture import Capture


def made_anew(
    capture: Capture, flow: DataFlow, unregistered: Iterable[int], starved: Iterable[int]
) -> dict[int, tuple[int, ...]]:
    """Starved parameter -> the parameters of no module that have its memory, or a copy of it: ``nn.Parameter(w)``."""
    memory = {storage: p for p in sorted(starved) if (storage := capture.tensors[p].storage) >= 0}
    copies: dict[int, tuple[int, ...]] = {}
    for tensor in sorted(unregistered) if memory else ():
        record, made = capture.tensors[tensor], flow.birth(tensor)
        copied = made.inputs if made is not None and is_a(made.name, OpKind.COPIES) else ()
        places = (record.storage, *(capture.tensors[source].storage for source in copied))
        owner = next((memory[place] for place in places if place in memory), -1)
        if record.kind == "parameter" and owner >= 0:
            copies[owner] = (*copies.get(owner, ()), tensor)
    return copies


def birth_site(lifecycle: ParameterLifecycle, flow: DataFlow, tensor: int) -> int:
    """Where a leaf became a parameter of a module, was made to require grad, or was computed; -1: not seen."""
    made = flow.birth(tensor)
    events = (
        *lifecycle.registrations(tensor)[-1:],
        *lifecycle.unfrozen([tensor])[-1:],
        *(() if made is None else (made,)),
    )
    return next((event.site for event in events), -1)


def without_their_cuts(cuts: Iterable[GradientCut], copies: Collection[int]) -> tuple[GradientCut, ...]:
    """The cuts that matter to others: these parameters would have their gradients if no copy was in their place."""
    left = ((cut, tuple(p for p in cut.parameters if p not in copies)) for cut in cuts)
    return tuple(
        cut if len(others) == len(cut.parameters) else replace(cut, parameters=others) for cut, others in left if others
    )
