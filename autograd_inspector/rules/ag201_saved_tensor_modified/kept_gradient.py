"""AG201 where what was saved is the `.grad` of a parameter itself, kept under another name: each round writes to it."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.in_place import out_of_place
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.autograd import SavedTensor
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.remedy import Operand
from autograd_inspector.rules.ag201_saved_tensor_modified.led_there import LedThere

_ASIDE = Trait.STEP | Trait.BACKWARD


def kept_gradient(analysis: Analysis, saved: SavedTensor, before: int, name: str) -> LedThere | None:
    """``before``: the op that saved it. None where it is no gradient, or the line that keeps it is not known."""
    owner, gradient = _in_memory_of(analysis, saved)
    if gradient < 0:
        return None
    edit = next(_returned(analysis, gradient, before), None)
    kept = {each.site for each in analysis.capture.gradients_kept}
    reads = [r.site for r in analysis.capture.grad_reads if r.gradient == gradient and r.site in kept]
    site = edit.site if edit is not None else reads[0] if reads else -1
    place = analysis.capture.place(site)
    if place is None:
        return None
    remedy = out_of_place(analysis, edit, place) if edit is not None else Operand(place, "whole", "{}.clone()")
    return LedThere(
        f"; {name} is the .grad of {name_of(analysis, owner)} itself, which zero_grad() and backward() write to",
        "Keep a copy of the gradient: `p.grad.clone()`.",
        analysis.user_frames(site, "kept without a copy here"),
        ((remedy,),),
    )


def _in_memory_of(analysis: Analysis, saved: SavedTensor) -> tuple[int, int]:
    """(the leaf, its gradient) in whose memory something was saved; (-1, -1) of anything else."""
    tensors = analysis.capture.tensors
    pairs = ((leaf, each) for leaf, gradients in analysis.gradients.items() for each in gradients)
    return next((pair for pair in pairs if tensors[pair[1]].storage == saved.storage >= 0), (-1, -1))


def _returned(analysis: Analysis, gradient: int, before: int) -> Iterator[Op]:
    """The calls that modified the gradient and handed it back to a statement that gives it a name."""
    for op in analysis.capture.ops[: max(before, 0)]:
        if gradient in op.outputs and any(write.tensor == gradient for write in op.writes) and not op.has(_ASIDE):
            place = analysis.capture.place(op.site)
            if place is not None and place.target and not place.expression.startswith(place.target):
                yield op
