"""Why the gradient of an op is zero, as far as its kind, its shapes and the values that were read tell."""

from __future__ import annotations

from collections.abc import Mapping

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.stuck_products import PRODUCTS
from autograd_inspector.analysis.gradients.zero_derivative import divided_by_itself
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.values import Range

Reason = tuple[str, str, tuple[Location, ...]]
"""Why, what to write instead, where it comes from."""

_ANY = (
    "Look at what goes into it: a ReLU or clamp outside its range, sign and round have derivative zero (use a "
    "straight-through estimator: `soft + (hard - soft).detach()`), two factors that are both zero stay zero."
)


def reason(analysis: Analysis, op: Op, ranges: Mapping[int, Range]) -> Reason:
    """What to say of an op that passes back nothing but zeros; the general advice where nothing is certain."""
    by_definition = _by_definition(analysis, op)
    if by_definition is not None:
        return by_definition
    input_range = ranges.get(op.inputs[0]) if op.inputs and not op.writes else None
    seen = f" ({_span(input_range)})" if input_range is not None else " that the loss reads"
    if is_a(op.name, OpKind.HINGES):
        return (
            f"none of its inputs{seen} is above its threshold",
            "Make some of its inputs positive: normalize them, start from a smaller or positive bias, lower the learning "
            "rate, or use a LeakyReLU, which has a slope on both sides.",
            (),
        )
    if is_a(op.name, OpKind.CLAMPS):
        return (
            f"all of its inputs{seen} lie outside its bounds",
            "Bound it with something that has a slope everywhere (a scaled tanh), or clamp only values that need no "
            "gradient.",
            _began(analysis, op),
        )
    if is_a(op.name, OpKind.SATURATES) or (op.name == "softmax" and input_range is not None):
        return (
            f"it is saturated: its input{seen} is so large that the derivative rounds to zero",
            "Make its input smaller: normalize the data, scale down the initial weights, or take the loss of the input "
            "itself (binary_cross_entropy_with_logits, cross_entropy).",
            (),
        )
    return _zero_factor(analysis, op, ranges) if is_a(op.name, PRODUCTS) else ("", _ANY, ())


def _by_definition(analysis: Analysis, op: Op) -> Reason | None:
    """Why the result does not depend on the input, whatever the values are."""
    if op.has(Trait.CONSTANT):
        return (
            "it runs over a dimension of size 1, where its result does not depend on the input",
            "With a single output use a sigmoid (F.binary_cross_entropy_with_logits on the output itself); softmax and "
            "cross_entropy need one output for each class, in the dimension that they run over; attention over a single position is constant.",
            (),
        )
    if divided_by_itself(analysis.capture, op):
        return (
            "it divides each element by itself: the sum runs over a dimension of size 1, so the result is 1 whatever the "
            "input is",
            "Divide only where the sum has several terms; a single weight, as of top-1 routing, is used as it is.",
            (),
        )
    if op.has(Trait.PICKS):
        return (
            'mode="nearest" takes the pixel next to each point, and moving the point does not change it',
            'Use `mode="bilinear"`, which has a derivative with respect to the grid.',
            (),
        )
    return None


def _began(analysis: Analysis, op: Op) -> tuple[Location, ...]:
    """Where a parameter was made that is clamped itself: it never moves, and began outside of the bounds."""
    clamped = [t for t in op.inputs[:1] if analysis.capture.tensors[t].kind == "parameter"]
    return analysis.places(
        *((site, f"{name_of(analysis, t)} made here") for t in clamped for site in analysis.lifecycle.made_at(t)[:1])
    )


def _span(values: Range) -> str:
    return f"{values.low:.3g}" if values.low == values.high else f"from {values.low:.3g} to {values.high:.3g}"


def _zero_factor(analysis: Analysis, op: Op, ranges: Mapping[int, Range]) -> Reason:
    """A factor that is all zeros: everything else is multiplied by it."""
    tensors = analysis.capture.tensors
    zeros = [t for t in dict.fromkeys(op.inputs) if t in ranges and ranges[t].low == ranges[t].high == 0]
    zeros = [t for t in zeros if ranges[t].finite and tensors[t].kind != "parameter" and not tensors[t].requires_grad]
    if len(zeros) != 1 or len(op.inputs) < 2:
        return "", _ANY, ()
    name, made = name_of(analysis, zeros[0]), analysis.flow.birth(zeros[0])
    factor = name if "[" not in name else f"the other factor, {name},"
    return (
        f"it multiplies by zeros: {factor} is zero throughout",
        f"Check what computes {name if '[' not in name else 'that factor'}. If it is a mask, its condition may be inverted "
        "or may select nothing in this batch.",
        analysis.user_frames(made.site, "all zeros from here") if made is not None else (),
    )
