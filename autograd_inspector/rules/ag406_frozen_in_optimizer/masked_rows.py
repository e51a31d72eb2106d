"""AG406: rows whose gradients are set to zero, so that they stay, and that weight decay moves."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.masked import decayed_all_the_same
from autograd_inspector.model.finding import Problem


def masked_rows(analysis: Analysis) -> Iterator[Problem]:
    """The old tokens of an embedding of which only a new one is to learn."""
    for found in decayed_all_the_same(analysis):
        name, optimizer = name_of(analysis, found.tensor), analysis.capture.placement.optimizers[found.step.optimizer]
        yield Problem(
            "warning",
            f"the program sets a part of the gradient of {name} to zero before each step(), and {optimizer.type} shrinks that "
            "part all the same: weight_decay applies to all of the parameter",
            f"Put {name} into a parameter group with weight_decay=0.",
            analysis.places(
                (optimizer, "optimizer with weight_decay created here"),
                (found.zeroed, "gradient set to zero here"),
                (found.step, "step() called here"),
            ),
            (name, "weight_decay"),
            ops=(found.step.op,),
        )
