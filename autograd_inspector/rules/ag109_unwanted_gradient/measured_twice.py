"""AG109: two terms of a loss measure one pair, and only in one of them an end is a constant."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.cuts import detached
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.losses.measured_twice import measured_twice
from autograd_inspector.model.finding import Problem


def without_a_constant(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line."""
    for found in measured_twice(analysis):
        moved, other, measure = name_of(analysis, found.moved), name_of(analysis, found.other), found.whole.name
        read = next((t for t in found.whole.inputs if t == found.other), -1)
        yield Problem(
            "warning",
            f"two loss terms compute `{measure}` of {moved} and {other}: one treats {moved} as a constant, the other treats neither as one, so both terms train {other}",
            f"detach() {other} in the term that should train only {moved}: `{other}.detach()`. If one term is meant to train both, no change is needed.",
            analysis.places((found.whole, "neither is a constant here"), (found.half, f"{moved} is a constant here")),
            (moved, other, measure),
            ops=(found.whole.index,),
            cures=tuple(detached(analysis, found.whole, read)) if read >= 0 else (),
        )
