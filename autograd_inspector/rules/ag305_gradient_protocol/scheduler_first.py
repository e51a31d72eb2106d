"""AG305 where the scheduler of a learning rate steps before its optimizer."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.early_schedulers import EarlyScheduler, early_schedulers
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.model.finding import Problem


def scheduler_first(analysis: Analysis) -> Iterator[Problem]:
    """A hint for each optimizer: all that is lost is the first value of the schedule."""
    for found in early_schedulers(analysis):
        yield _problem(analysis, found)


def _problem(analysis: Analysis, found: EarlyScheduler) -> Problem:
    name = variable(analysis, found.optimizer)
    return Problem(
        "info",
        f"{found.stepped.api} comes before the step() of {name} in each iteration: no step uses the first value of the schedule",
        f"Call the scheduler's step() after {name}.step().",
        analysis.places((found.stepped, "scheduler stepped here"), (found.step, "optimizer stepped here, afterwards")),
        (name, found.stepped.type),
        ops=(found.step.op,),
    )
