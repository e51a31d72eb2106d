"""The cuts that the graph shows: all of them, whether or not they keep anything from learning."""

from __future__ import annotations

from autograd_inspector.analysis.gradient_cuts.classifier import Cause, cause_of, hands_on
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait

_CUT, _EXPORT = int(Trait.CUT), int(Trait.EXPORT)


def severs(op: Op, capture: Capture, back: frozenset[int]) -> bool:
    """Whether values went on through the op and gradient did not.

    A number that was printed and never came back did not go on (``back`` has the others: ``returned``).
    """
    if not op.traits & _CUT or (op.traits & _EXPORT and op.index not in back):
        return False
    return hands_on(capture, op)


def returned(capture: Capture) -> frozenset[int]:
    """Ops that took out values which may have come back: seen to, or unknown because the program raised since."""
    returned_exports = {back.export for back in capture.scalar_reentries}
    last: dict[int, int] = {}
    exports = []
    for op in capture.ops:
        if op.traits & _EXPORT:
            last.update(dict.fromkeys(op.inputs[:1], op.index))
            exports.append(op.index)
        elif op.traits & _CUT and is_a(op.name, OpKind.REWRAPS):
            returned_exports.update(last[tensor] for tensor in op.inputs if tensor in last)
    since = max((run.end for run in capture.backwards if not run.error), default=0)
    return frozenset(returned_exports).union(at for at in exports if capture.error and at >= since)


def cause_and_site(op: Op, capture: Capture) -> tuple[Cause, int]:
    """Why a severing op severs, and the site that says so."""
    ends = (*op.outputs, *(write.tensor for write in op.writes), *op.inputs)
    cause = cause_of(capture, op, ends[0])
    region = capture.regions[op.region]
    switched = cause in {"no_grad", "inference_mode"} and region.site >= 0
    return cause, region.site if switched else op.site
