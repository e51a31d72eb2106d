"""Learning rates of groups that a scheduler is not made from: it has one for all of them, and overwrites each.

OneCycleLR computes from `max_lr`, and what the groups were given (a smaller rate, or zero for what is frozen) is gone.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.event import Step
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.program_events import SchedulerMade, SchedulerStepped


class LevelledRates(Struct, frozen=True):
    """``made`` gave all groups one rate, ``step`` is the first with it; ``moved`` were given 0, and it moves them."""

    optimizer: OptimizerRecord
    made: SchedulerMade
    step: Step
    moved: tuple[int, ...]


def levelled_rates(analysis: Analysis) -> Iterator[LevelledRates]:
    """Each scheduler that keeps them so. A factor that is zero at first, in a warm-up, overwrites nothing."""
    capture = analysis.capture
    for made in capture.events_of(SchedulerMade):
        if len({*made.given} - {-1.0}) < _SEVERAL or not _one_for_all(made.rates):
            continue
        later = (e for e in capture.events_of(SchedulerStepped) if e.optimizer == made.optimizer and e.at >= made.at)
        steps = analysis.timeline.steps_of(made.optimizer).since(made.at)
        step = next((s for s in steps if not s.error and s.rates == made.rates), None)
        if step is not None and all(len(set(e.rates)) == 1 for e in later):
            moved = [
                p.tensor
                for p in step.parameters
                if 0 <= p.group < len(made.given) and made.given[p.group] == 0 and p.version_after > p.version_before
            ]
            yield LevelledRates(capture.placement.optimizers[made.optimizer], made, step, tuple(moved))


_SEVERAL = 2


def _one_for_all(rates: tuple[float, ...]) -> bool:
    return len(set(rates)) == 1 and rates[0] > 0
