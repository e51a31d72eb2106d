"""AG109: parameters that learn, and that a moving average pulls back to a copy which never follows them."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.memory.pulled_back import pulls_back
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.remedy import SwapArguments
from autograd_inspector.model.wording import agree, summarize_names


def pulled_back(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that does so in several rounds.

    The copy has to be a network of its own, whose output goes into the losses that the parameters learn from: weights
    that are only kept, to stay near to them, are a regulariser.
    """
    for pulls in pulls_back(analysis):
        names = names_of(analysis, dict.fromkeys(pull.tensor for pull in pulls))
        copies = names_of(analysis, dict.fromkeys(pull.copy for pull in pulls))
        step = next(s for s in reversed(analysis.capture.steps) if pulls[-1].tensor in s.held)
        yield Problem(
            "warning",
            f"{summarize_names(names)} {agree(names, 'is', 'are')} averaged in each iteration with {summarize_names(copies)}, which "
            f"never {agree(copies, 'changes', 'change')}: the average pulls the trained values back, and the copy that the loss uses keeps its initial values",
            "Write the average into the copy, `copy.lerp_(trained, rate)`: source and target are likely swapped in the call.",
            analysis.places((pulls[-1].op, "averaged here"), (step, "trained here")),
            (*names, *copies),
            ops=tuple(pull.op.index for pull in pulls),
            cures=tuple((SwapArguments(place),) for place in analysis.user_frames(pulls[-1].op.site, "")[1:2]),
        )
