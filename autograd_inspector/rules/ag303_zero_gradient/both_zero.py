"""AG303 where two parameters that are zero are multiplied by each other: both stay zero for ever."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.stuck_products import stuck_products
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree


def both_zero(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line."""
    for found in stuck_products(analysis):
        firsts, seconds = (names_of(analysis, side) for side in zip(*found.pairs, strict=True))
        one, other = firsts[0], seconds[0]
        others = found.pairs[1:]
        more = f", and so {agree(others, 'does', 'do')} {len(others)} more {agree(others, 'pair', 'pairs')} of factors"
        set_to_zero = {
            analysis.capture.ops[at].site: "set to zero here"
            for parameter in found.pairs[0]
            for at in analysis.flow.producers(parameter, found.op.index)[:1]
        }
        yield Problem(
            "warning",
            f"{one} and {other} are both zero, and `{found.op.name}` multiplies the one by the other: the gradient of each is a "
            f"product with the other, so both stay zero in every step{more if others else ''}",
            f"Initialize one of the two with random numbers and the other with zeros, as LoRA does: `nn.init.normal_({one}, std=0.02)`.",
            analysis.places(*set_to_zero.items(), (found.op, "multiplied here")),
            (*firsts, *seconds),
            ops=(found.op.index,),
        )
