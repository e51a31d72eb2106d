"""AG305 where the program looks at its gradients in each round, decides by what it sees, and clears them: no step is made.

Who measures gradients keeps a number of them. Who asks a yes-no question of them and always gets the answer on which the
step is left out, does not train.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.guarded_away import guarded_optimizers
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import counted, summarize_names


def guarded_away(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each optimizer that was made in the capture, and never stepped."""
    for found in guarded_optimizers(analysis):
        optimizer, rounds = found.optimizer, counted(len(found.cleared), "time")
        step = f"{variable(analysis, optimizer)}.step()"
        why = f"; the `.grad` of {_names(analysis, found.without)} is None each time" if found.without else ""
        yield Problem(
            "warning",
            f"{optimizer.type} never steps: {rounds} the program reads the gradients of {_names(analysis, optimizer.held)} and then clears "
            f"them without a step{why}",
            f"Check the condition that decides whether `{step}` is called: it leaves out every step. "
            + (
                "Skip parameters whose `.grad` is None: these take no part in the loss."
                if found.without
                else "Compare it with the gradients that it sees."
            ),
            analysis.places(
                (found.reads[-1], "gradients read here"),
                (found.cleared[-1], "cleared without a step here"),
                (optimizer, "optimizer created here"),
            ),
            (optimizer.type, *names_of(analysis, found.without or optimizer.held)),
        )


def _names(analysis: Analysis, tensors: Sequence[int]) -> str:
    return summarize_names(names_of(analysis, tensors))
