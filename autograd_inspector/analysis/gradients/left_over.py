"""Backwards at the end of a round of data that serve no step, or the first step of the next round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.discarded import Losses, Lost
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.program_events import ModuleCleared, ZeroGradCalled


class LeftOver(Struct, frozen=True):
    """Backwards of one line that were cleared together, after others that a step had used, ``served`` at a time."""

    lost: tuple[Lost, ...]
    served: int


def cleared_rests(analysis: Analysis, losses: Losses) -> Iterator[list[LeftOver]]:
    """Those of each line of a backward, where it is so in each round."""
    for site in dict.fromkeys(lost.run.site for lost in losses.lost):
        rests = list(_rests(analysis, losses, site))
        if rests and _comes_regularly(analysis, rests):
            yield rests


def carried_rests(analysis: Analysis, losses: Losses) -> Iterator[tuple[int, Sequence[Backward]]]:
    """(how many backwards of a line serve a step, the last that served one with some more from the round before)."""
    found = (_carried(analysis, runs) for runs in grouped(losses.served, lambda run: run.site).values())
    yield from (carried for carried in found if carried is not None)


def _rests(analysis: Analysis, losses: Losses, site: int) -> Iterator[LeftOver]:
    """The backwards of a line that were lost, where all others of it serve steps, the same number each."""
    lost = {each.run.index: each for each in losses.lost if each.run.site == site}
    used = [run for run in losses.served if run.site == site and _step_after(analysis, run) >= 0]
    sizes = [len(list(group)) for _, group in groupby(used, key=lambda run: _step_after(analysis, run))]
    each = max(sizes, default=0)
    if each <= 1 or set(sizes[1:]) - {each}:
        return
    for _, group in groupby(lost.values(), key=lambda one: min(one.cleared.values())):
        together = tuple(group)
        if len(together) < each and together[0].run.index > used[0].index:
            yield LeftOver(together, each)


def _carried(analysis: Analysis, runs: list[Backward]) -> tuple[int, Sequence[Backward]] | None:
    """(how many backwards of a line serve a step, the last that served one with some more from the round before)."""
    served = groupby(runs, key=lambda run: _step_after(analysis, run)) if len(runs) > 1 else ()
    groups = [tuple(group) for step, group in served if step >= 0]
    sizes = [len(group) for group in groups]
    usual = min(sizes, default=0)
    if analysis.capture.history.folded or usual < 2 or sizes[0] != usual:
        return None
    larger = set(sizes) - {usual}
    if len(larger) != 1 or max(larger) >= 2 * usual:
        return None  # More and more backwards for a step are a schedule.
    return usual, next(group for group in reversed(groups) if len(group) > usual)


def _step_after(analysis: Analysis, run: Backward) -> int:
    """The op of the first step behind a run that holds something which the run reached."""
    following = analysis.timeline.steps.since(run.end)
    return next((step.op for step in following if not step.held.isdisjoint(run.reached)), -1)


def _comes_regularly(analysis: Analysis, rests: list[LeftOver]) -> bool:
    """Whether it is so in each round: several times as many, or cleared by a line that began the first round, too."""
    if len({rest.lost[0].site for rest in rests}) > 1 or len({len(rest.lost) for rest in rests}) > 1:
        return False
    first = min(run.start for run in analysis.capture.backwards)
    site = rests[0].lost[0].site
    calls = (*analysis.capture.events_of(ZeroGradCalled), *analysis.capture.events_of(ModuleCleared))
    return len(rests) > 1 or any(call.site == site and call.at <= first for call in calls)
