"""AG305 where several backwards serve one step, and those that are left at the end of a round of data serve none.

``if (i + 1) % 4 == 0: step()`` in a loop of six batches, and zero_grad() before the loop: the last two are lost, in each
epoch. Where nothing clears them, the first step of the next epoch uses their gradients with its own four. Many live with that, as a loader with drop_last does. A round that broke off is told apart: its gradients are
cleared by a line that runs in such rounds alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.discarded import Losses
from autograd_inspector.analysis.gradients.left_over import LeftOver, carried_rests, cleared_rests
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def left_over(analysis: Analysis, losses: Losses) -> Iterator[Problem]:
    """One finding for each line of a backward."""
    for rests in cleared_rests(analysis, losses):
        yield _problem(analysis, rests)
    for usual, runs in carried_rests(analysis, losses):
        yield _carried_over(analysis, usual, runs)


def _problem(analysis: Analysis, rests: list[LeftOver]) -> Problem:
    rest = rests[-1]
    count, names = len(rest.lost), names_of(analysis, sorted(rest.lost[0].reached))
    calls = agree(rest.lost, "one backward() call is", f"{count} backward() calls are")
    step = next((s for s in analysis.capture.steps if not s.held.isdisjoint(rest.lost[0].reached)), None)
    return Problem(
        "info",
        f"{rest.served} backward() calls serve one step(), and at the end {calls} left over: zero_grad() clears the "
        f"gradients of {summarize_names(names)} before any step() uses them",
        "Step for the rest of the batches as well, behind the loop or at its last round: "
        f"`if (i + 1) % {rest.served} == 0 or i + 1 == len(loader):`.",
        analysis.places(
            (rest.lost[-1], "cleared here, unused"),
            *((lost.run, "gradients computed here") for lost in rest.lost[:1]),
            (step, f"step() uses {rest.served} at a time"),
        ),
        tuple(names),
    )


def _carried_over(analysis: Analysis, usual: int, runs: Sequence[Backward]) -> Problem:
    rest = len(runs) - usual
    names = names_of(analysis, sorted(runs[0].reached))
    step = next(
        (s for s in analysis.timeline.steps.since(runs[-1].end) if not s.held.isdisjoint(runs[0].reached)), None
    )
    return Problem(
        "info",
        f"{usual} backward() calls serve one step(), and this step() uses {len(runs)}: "
        f"{agree(rest, 'one that was', f'{rest} that were')} left over at the end of the previous epoch still "
        f"{agree(rest, 'counts', 'count')} in the gradients of {summarize_names(names)}",
        "Step for the rest of the batches as well, behind the loop or at its last round: "
        f"`if (i + 1) % {usual} == 0 or i + 1 == len(loader):`.",
        analysis.places(
            (step, f"step() uses {len(runs)} here"), (runs[0], "gradients of the previous epoch computed here")
        ),
        tuple(names),
    )
