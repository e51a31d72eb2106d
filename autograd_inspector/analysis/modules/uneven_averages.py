"""Averages that one line updates several times in a round, where it updates others once.

A recursion over modules that asks each of them for all parameters below it does so: an average moves once for each
module around it, and those that lie deeper follow faster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.modules.average_updates import AverageUpdate, average_updates
from autograd_inspector.analysis.modules.following import moved_by_steps

_FEWEST = 2
"""Rounds that have to be alike."""


class UnevenAverages(Struct, frozen=True):
    """In each round one line runs ``update`` ``times`` for one average, and ``once`` for another one as often as ``fewest``."""

    update: AverageUpdate
    once: AverageUpdate
    times: int
    fewest: int
    others: int


def uneven_averages(analysis: Analysis) -> Iterator[UnevenAverages]:
    """One record for each line that updates averages."""
    capture = analysis.capture
    moved = moved_by_steps(analysis)
    if not moved or capture.history.folded:
        return
    rounds: dict[tuple[str, int] | None, dict[int, Counter[int]]] = {}
    first: dict[tuple[tuple[str, int] | None, int], AverageUpdate] = {}
    shared: set[tuple[str, int] | None] = set()
    for storage, updates in average_updates(analysis, moved).items():
        for update in updates:
            line = line_of(analysis, update.op.site)
            if update.parameter != updates[0].parameter:
                shared.add(line)  # An average of several parameters.
            number = analysis.timeline.steps.passed(update.op.index)
            rounds.setdefault(line, {}).setdefault(number, Counter())[storage] += 1
            first.setdefault((line, storage), update)
    for line, counts in rounds.items():
        every = list(counts.values())
        if line in shared or len(every) < _FEWEST or any(each != every[0] for each in every[1:]):
            continue
        most, fewest = max(every[0].values()), min(every[0].values())
        several = [storage for storage, count in every[0].items() if count == most]
        if most > fewest and not _tied(analysis, first[line, several[0]]):
            once = next(storage for storage, count in every[0].items() if count == fewest)
            more = sum(count > fewest for count in every[0].values()) - 1
            yield UnevenAverages(first[line, several[0]], first[line, once], most, fewest, more)


def _tied(analysis: Analysis, update: AverageUpdate) -> bool:
    """Whether the parameter has several names: who goes over all names meets it several times."""
    return len(analysis.capture.tensors[update.parameter].names) > 1
