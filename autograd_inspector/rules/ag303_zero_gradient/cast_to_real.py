"""AG303: a complex tensor that is cast to a real dtype, which drops its imaginary part."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of, names_of
from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.remedy import Operand
from autograd_inspector.model.wording import summarize_names

_CASTS = OpKind.CONVERTS | OpKind.COPIES_INTO


def cast_to_real(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that a backward went through; `.real` and `abs()` say what they take."""
    told: set[object] = set()
    for node in analysis.capture.nodes:
        op = analysis.capture.op_of(node)
        dropped = _dropped(analysis, op) if op is not None else None
        if op is None or dropped is None or line_of(analysis, op.site) in told:
            continue
        behind = analysis.leaves_below(node) & analysis.learning
        if behind:
            told.add(line_of(analysis, op.site))
            names = names_of(analysis, sorted(behind))
            yield Problem(
                "warning",
                f"`{op.name}` casts {name_of(analysis, dropped)} from {analysis.capture.tensors[dropped].dtype} to a real dtype "
                f"and drops its imaginary part: {summarize_names(names)} get no gradient from that part",
                "Keep both parts, with `torch.view_as_real(x)`, or choose one: `x.abs()` for the magnitude, `x.real` for "
                "the real part.",
                analysis.user_frames(op.site, "imaginary part dropped here"),
                tuple(names),
                ops=(op.index,),
                cures=at_line(analysis, op.site, lambda place: Operand(place, "first", "{}.abs()")),
            )


def _dropped(analysis: Analysis, op: Op) -> int | None:
    """The complex tensor of which an op keeps the real part alone."""
    tensors = analysis.capture.tensors
    if not is_a(op.name, _CASTS) or op.has(Trait.BACKWARD) or not op.outputs:
        return None
    if tensors[op.outputs[0]].dtype.startswith("complex"):
        return None
    given = (read for read in op.inputs if tensors[read].dtype.startswith("complex") and tensors[read].requires_grad)
    return next(given, None)
