"""Whether gradients are cleared too often: in each micro-batch of an accumulation, or between the losses of one step."""

from __future__ import annotations

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.discarded import Losses, Lost, windows
from autograd_inspector.model.event import Step


def holds_some(step: Step, tensors: frozenset[int]) -> bool:
    """Whether a step met some of the parameters."""
    return any(p.tensor in tensors for p in step.parameters)


def ever_steps(analysis: Analysis, tensor: int) -> bool:
    """Whether an optimizer that has it ever stepped, in what is folded away as well."""
    optimizers = analysis.capture.placement.optimizers
    return any(optimizers[number].steps for number in analysis.timeline.holders((tensor,)))


def cleared_too_often(analysis: Analysis, losses: Losses, members: list[Lost], tensors: frozenset[int]) -> bool:
    """Whether what those backwards and the ones that were used had computed was meant for the same steps.

    Then the first step loses some of it, and it is no single one that does, and as many are lost as are used. Rounds
    that break off are the exception, or come together, or clear where no other round does.
    """
    partly = {lost.run.index for lost in losses.partly}
    served = [run for run in losses.served if run.index not in partly and not tensors.isdisjoint(run.reached)]
    spans = list(windows(analysis, tensors))
    lossy = [any(start < lost.run.start <= end for lost in members) for start, end in spans]
    used = sum(run.site == members[0].run.site for run in served)
    if len(members) < 2 or not served or not (used or len(spans) > 1):
        return False
    if not used and any(lost.run.index in partly for lost in members):
        return False  # What was read may be all that it was run for.
    if all(losses.ended_early(lost) for lost in members):
        return False
    if analysis.capture.history.folded:
        return any(lossy) and _always_so_many(analysis)
    again = sum(lossy) > 1 or len(lossy) == 1 or not used
    return bool(lossy) and lossy[0] and again and len(members) >= used


def _always_so_many(analysis: Analysis) -> bool:
    """Whether there were two backwards for each step, those that are folded away included, from the first one on."""
    history = analysis.capture.history
    counts = list(history.backwards)[: history.steps]
    usual = min(counts[history.folded :], default=0)
    return usual > 1 and counts[0] >= usual and sum(counts) >= 2 * len(counts)


def another_in_its_place(analysis: Analysis, lost: Lost, holders: set[int]) -> Step | None:
    """The step of an optimizer that holds none of what a backward reached, and yet the next one behind it."""
    step = next(iter(analysis.timeline.steps.since(lost.run.end)), None)
    if step is None or step.optimizer in holders or step.at > min(lost.cleared.values()):
        return None
    return None if step.held.intersection(lost.run.reached) else step
