"""AG305 where the scheduler of a learning rate steps before its optimizer, or at each backward."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.remedies.protocol import in_order
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.early_schedulers import EarlyScheduler, early_schedulers
from autograd_inspector.analysis.optimizers.fast_schedulers import FastScheduler, fast_schedulers
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.remedy import Again, Remove


def scheduler_first(analysis: Analysis) -> Iterator[Problem]:
    """For each optimizer: what is lost is the first value of the schedule, or most of its values (all, but for zeros)."""
    for found in early_schedulers(analysis):
        yield _problem(analysis, found)
    for fast in fast_schedulers(analysis):
        yield _too_fast(analysis, fast)


def _problem(analysis: Analysis, found: EarlyScheduler) -> Problem:
    name = variable(analysis, found.optimizer)
    return Problem(
        "info",
        f"{found.stepped.api} comes before the step() of {name} in each iteration: no step uses the first value of the schedule",
        f"Call the scheduler's step() after {name}.step().",
        analysis.places((found.stepped, "scheduler stepped here"), (found.step, "optimizer stepped here, afterwards")),
        (name, found.stepped.type),
        ops=(found.step.op,),
        cures=tuple(in_order(analysis, found.stepped.site, found.step.site)),
    )


def _too_fast(analysis: Analysis, found: FastScheduler) -> Problem:
    name = variable(analysis, found.optimizer)
    scheduler = analysis.user_frames(found.stepped.site, "")[:1]
    step = analysis.user_frames(found.step.site, "")[:1]
    missed = f", and its lr is 0 whenever {name} steps: these steps change nothing" if found.missed else ""
    return Problem(
        "warning" if found.missed else "info",
        f"{found.stepped.api} comes after each backward(), {found.times} times for each step() of {name}: the schedule runs "
        f"{found.times} times as fast as the optimizer{missed}",
        f"Call the scheduler's step() after {name}.step(), where that runs. If the schedule counts backwards, no change is "
        "needed.",
        analysis.places((found.stepped, "scheduler stepped here"), (found.step, "optimizer stepped here, less often")),
        (name, found.stepped.type),
        ops=(found.step.op,),
        cures=tuple((Remove(one), Again(one, other, "behind")) for one in scheduler for other in step),
    )
