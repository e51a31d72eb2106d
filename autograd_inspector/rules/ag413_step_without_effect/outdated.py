"""AG413: a parameter moves, and others go on with a number that was read from it before."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import spelled
from autograd_inspector.analysis.optimizers.outdated_numbers import outdated_numbers
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import counted


def never_read_again(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each parameter."""
    for found in outdated_numbers(analysis):
        name, last = name_of(analysis, found.tensor), found.steps[-1]
        kind = analysis.capture.placement.optimizers[last.optimizer].type
        yield Problem(
            "warning",
            f"{kind} moved {name} in {counted(len(found.steps), 'step')}, but only the loss of {name} itself uses the new values: "
            f"the other losses use a number that {spelled(found.read.name)} read before these steps",
            f"Read the number again after each step, or use a tensor that is computed from `{name}.detach()` each time instead.",
            analysis.places(
                (found.read, "number read here"),
                (found.used, "old number used here"),
                (last, "step() called here"),
            ),
            (name, kind),
            ops=(found.read.index, found.used.index, last.op),
        )
