"""AG204: a name of a frozen copy that was given to the model which learns."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.callers import callee
from autograd_inspector.analysis.modules.taken_over import models_taken_over
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.rewrites import OwnCopy


def taken_over(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that calls by that name."""
    for found in models_taken_over(analysis):
        name = analysis.capture.display_names.layer(found.trained)
        learner = callee(analysis.capture.place(found.trained.site)) or name
        called = callee(analysis.capture.place(found.call.site)) or "the model called here"
        yield Problem(
            "warning",
            f"{called} is {learner} itself since it was assigned: before that, the same line called another model, with other "
            f"parameters. Each step() now moves {called} as well, and its outputs are constants for backward()",
            f"Copy the values instead of the model: `{called}.load_state_dict({learner}.state_dict())`, or assign "
            f"`copy.deepcopy({learner})`.",
            analysis.places(
                (found.named, "assigned here, without a copy"),
                (found.call, "the model that learns is called here"),
                (found.trained, "trained by this call"),
            ),
            tuple(dict.fromkeys((called, learner, name))),
            cures=at_line(analysis, found.named.site if found.named else -1, OwnCopy),
        )
