"""AG304: data in which NaN stands for a missing value, and that are computed with before a mask leaves it out.

The program asks where the NaN are, so it knows of them. 0 * NaN is NaN, in the loss and in its gradients.
"""

from __future__ import annotations

from msgspec import Struct

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.values import filled
from autograd_inspector.advice.spelling import is_path
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.nonfinite_origins import is_meant, ops_above
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op
from autograd_inspector.model.values import ValueFault
from autograd_inspector.model.wording import agree, summarize_names


class Missing(Struct, frozen=True):
    """``met`` is the first op that computes with the NaN in ``tensor``, and ``asked`` tells where these are."""

    met: Op
    tensor: int
    asked: Op


def missing_values(analysis: Analysis, fault: ValueFault, run: Backward) -> Missing | None:
    """None where the NaN are no data, or nothing shows that the program expects them there."""
    if not any(made.nan for made in fault.outputs) or not is_meant(analysis, fault):
        return None
    capture = analysis.capture
    bad = frozenset(capture.bad_tensors) | {made.tensor for made in fault.outputs}
    above = [capture.ops[index] for index in sorted(ops_above(analysis, run))]
    data = {
        tensor for op in above for tensor in op.inputs if tensor in bad and not capture.tensors[tensor].requires_grad
    }
    met = next((op for op in above if op.recorded and not data.isdisjoint(op.inputs)), None)
    asking = (op for op in capture.ops[: run.start] if is_a(op.name, OpKind.TELLS_MISSING))
    asked = next((op for op in asking if not data.isdisjoint(op.inputs)), None)
    if met is None or asked is None:
        return None
    return Missing(met, next(tensor for tensor in met.inputs if tensor in data), asked)


def computed_with_missing(
    analysis: Analysis,
    found: Missing,
    fault: ValueFault,
    run: Backward,
    spoilt: tuple[str, ...],
    hidden: tuple[Location, ...],
) -> Problem:
    """The op that computes with them is what to edit, not where they come from; ``hidden``: what masks them too late."""
    name = name_of(analysis, found.tensor)
    gets = f"{summarize_names(spoilt)} {agree(spoilt, 'gets', 'get')} NaN" if spoilt else "the loss is NaN"
    return Problem(
        "error",
        f"{name} holds NaN for missing values, and `{found.met.name}` computes with them before the mask of "
        f"`{found.asked.name}` leaves them out: 0 * NaN is NaN, so {gets}",
        f"Replace them before `{found.met.name}`: `{name if is_path(name) else 'target'}.nan_to_num()`, or index both operands with the mask "
        "first: `pred[mask]`, `target[mask]`.",
        (
            *analysis.places((found.met, "computes with NaN here"), (found.asked, "mask made here")),
            *hidden,
            *analysis.user_frames(run.site, "backward called here"),
        ),
        (*spoilt, name, found.met.name),
        ops=(found.met.index,),
        cures=tuple(filled(analysis, fault, run)),
    )
