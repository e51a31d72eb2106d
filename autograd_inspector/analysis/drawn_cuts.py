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


def severs(op: Op, capture: Capture, back: frozenset[int]) -> bool:
    """Whether values went on through the op and gradient did not.

    The backward of a custom Function computes with the saved tensors under no_grad, as it should; an op that
    takes only the shape of its input passes no value on, nor does a number that was printed and never came back
    (``back`` has the others: ``returned``).
    """
    if not op.traits & _CUT or op.name in _SHAPE_ONLY:
        return False
    if op.traits & _EXPORT and op.index not in back:
        return False
    return not op.traits & _BACKWARD or capture.regions[op.region].kind == "enabled"


def returned(capture: Capture) -> frozenset[int]:
    """Ops that took out values which may have come back: seen to, or unknown because the program raised since."""
    found = {back.export for back in capture.returns}
    last: dict[int, int] = {}
    exports = []
    for op in capture.ops:
        if op.traits & _EXPORT:
            last.update(dict.fromkeys(op.inputs[:1], op.index))
            exports.append(op.index)
        elif op.traits & _CUT and op.name in _FROM_PYTHON:
            found.update(last[tensor] for tensor in op.inputs if tensor in last)
    since = max((run.end for run in capture.backwards if not run.error), default=0)
    return frozenset(found).union(at for at in exports if capture.error and at >= since)


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
