"""Why an op let no gradient through."""

from __future__ import annotations

from autograd_inspector.model.capture import Capture
from autograd_inspector.model.graph import Cause
from autograd_inspector.model.op import Op, Trait

_DETACHING = frozenset({"detach", "detach_", "data", "grad"})
_FROM_PYTHON = frozenset({"tensor", "as_tensor", "asarray", "from_numpy", "new_tensor", "scalar_tensor"})
_CUT, _EXPORT, _COLLECTIVE, _BACKWARD = (
    int(trait) for trait in (Trait.CUT, Trait.EXPORT, Trait.COLLECTIVE, Trait.BACKWARD)
)
_SHAPE_ONLY = frozenset(f"{fill}_like" for fill in ("zeros", "ones", "empty", "full", "rand", "randn", "randint")) | {
    "new_zeros",
    "new_ones",
    "new_empty",
    "new_full",
    "new_empty_strided",
}


def severs(op: Op, capture: Capture) -> bool:
    """Whether values went on through the op and gradient did not.

    The backward of a custom Function computes with the saved tensors under no_grad, as it should; an op that
    takes only the shape of its input passes no value on.
    """
    if not op.traits & _CUT or op.name in _SHAPE_ONLY:
        return False
    return not op.traits & _BACKWARD or capture.regions[op.region].kind == "enabled"


def cause_of(op: Op, capture: Capture) -> tuple[Cause, int]:
    """Why a severing op severs, and the site that says so."""
    if op.traits & _COLLECTIVE:
        return "collective", op.site
    if op.traits & _EXPORT or op.name in _FROM_PYTHON:
        return "left torch", op.site
    if op.name in _DETACHING:
        return "detached", op.site
    region = capture.regions[op.region]
    if region.kind != "enabled":
        return region.kind, region.site if region.site >= 0 else op.site
    return "non-differentiable", op.site
