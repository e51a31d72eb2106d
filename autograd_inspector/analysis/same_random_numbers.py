"""Rounds of training in which dropouts drop the same values, since the program gives the generators one seed in each.

A fixed batch for a probe, an evaluation that is to be reproducible: the seed is for these, and what training draws
afterwards is the same as in the round before. Which generator an op draws from that may be given one is not known;
dropouts are given none.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import islice, pairwise

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import RandomStateSet

_FEWEST = 2
"""Rounds in a row, the first of which is not counted: it may be the beginning of a run."""


class SameNumbers(Struct, frozen=True):
    """``seeded`` comes in each of several rounds; ``drawn`` is the first op behind the last that training draws with."""

    seeded: RandomStateSet
    drawn: Op
    step: Step
    rounds: int


def same_random_numbers(analysis: Analysis) -> Iterator[SameNumbers]:
    """One record for each line that seeds."""
    capture = analysis.capture
    seeds = capture.events_of(RandomStateSet)
    if capture.history.folded or len(seeds) < _FEWEST:
        return
    told: set[object] = set()
    for optimizer in capture.placement.optimizers:
        rounds = list(pairwise(analysis.timeline.steps_of(optimizer.id).all))
        found = [_last_seed(analysis, seeds, before, after) for before, after in rounds]
        for (seeded, drawn), (again, drawn_again) in pairwise(found):
            if seeded is None or again is None or drawn is None or drawn_again is None:
                continue
            line = line_of(analysis, again.site)
            if line == line_of(analysis, seeded.site) and seeded.seed == again.seed and line not in told:
                told.add(line)
                alike = sum(each is not None and each.seed == again.seed for each, _ in found)
                step = next(after for before, after in rounds if before.op < drawn_again.index < after.op)
                yield SameNumbers(again, drawn_again, step, alike)


def _last_seed(
    analysis: Analysis, seeds: tuple[RandomStateSet, ...], before: Step, after: Step
) -> tuple[RandomStateSet | None, Op | None]:
    """The last seed between two steps, and what training draws with it; none where a state was put back since."""
    place = bisect_right(seeds, after.at, key=lambda seed: seed.at)
    seeded = seeds[place - 1] if place else None
    if seeded is None or seeded.at <= before.op or seeded.seed < 0:
        return None, None
    capture = analysis.capture
    drawing = capture.op_index.having(Trait.DRAWS)
    between = islice(drawing, bisect_left(drawing, seeded.at), bisect_left(drawing, after.at))
    following = (capture.ops[at] for at in between)
    return seeded, next((op for op in following if op.recorded and not op.has(Trait.BACKWARD)), None)
