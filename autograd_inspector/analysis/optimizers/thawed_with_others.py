"""Parameters that were frozen for good, and that a switch thaws together with what it had frozen for a while.

A context manager freezes all of a module and thaws all of it, whatever it was before. That it means both is seen when it
comes back: then the line that freezes meets them thawed, and freezes them with the others.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.model.event import RequiresGradChanged, Step


class ThawedWithOthers(Struct, frozen=True):
    """``tensors`` were frozen by ``frozen``; ``thawed`` undoes ``switched``, which froze others, and thaws them as well.

    ``step`` is the first one that moves them.
    """

    tensors: tuple[int, ...]
    frozen: RequiresGradChanged
    switched: RequiresGradChanged
    thawed: RequiresGradChanged
    step: Step


def thawed_with_others(analysis: Analysis) -> Iterator[ThawedWithOthers]:
    """One for each line that thaws, the first time."""
    told: set[object] = set()
    for group in _groups(analysis):
        line = line_of(analysis, group[0].site)
        if group[0].requires_grad and line not in told:
            told.add(line)
            found = _found(analysis, group)
            if found is not None:
                yield found


def _groups(analysis: Analysis) -> Iterator[list[RequiresGradChanged]]:
    """The changes in a row that one line makes at one moment."""
    group: list[RequiresGradChanged] = []
    for change in analysis.capture.requires_grad_changes:
        if group and (group[0].site, group[0].at, group[0].requires_grad) != (
            change.site,
            change.at,
            change.requires_grad,
        ):
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _found(analysis: Analysis, thawed: list[RequiresGradChanged]) -> ThawedWithOthers | None:
    mine = {change.tensor for change in thawed}
    frozen = [before for change in thawed if (before := _frozen_before(analysis, change)) is not None]
    in_order = [
        change for change in analysis.capture.requires_grad_changes if change.tensor in mine and change in frozen
    ]
    if not in_order:
        return None
    switched, line = in_order[-1], line_of(analysis, in_order[-1].site)
    earlier = [before for before in in_order if line_of(analysis, before.site) != line]
    at = thawed[0].at
    meant = [before for before in earlier if _frozen_again(analysis, before.tensor, at, line)]
    for step in analysis.timeline.steps.since(at):
        moved = {p.tensor for p in step.parameters if p.gradient >= 0 and not p.frozen}
        trained = [before for before in meant if before.tensor in moved]
        if trained:
            return ThawedWithOthers(tuple(b.tensor for b in trained), trained[0], switched, thawed[0], step)
    return None


def _frozen_before(analysis: Analysis, change: RequiresGradChanged) -> RequiresGradChanged | None:
    """What had frozen it last, where nothing had thawed it before: it has not been trained yet."""
    changes = analysis.lifecycle.changes([change.tensor], until=change.at)
    before = changes[: changes.index(change)]
    return before[-1] if before and not any(each.requires_grad for each in before) else None


def _frozen_again(analysis: Analysis, tensor: int, since: int, line: object) -> bool:
    """Whether the line that froze the others freezes this one as well when it comes back."""
    later = analysis.lifecycle.frozen([tensor], since=since)
    return bool(later) and line_of(analysis, later[0].site) == line
