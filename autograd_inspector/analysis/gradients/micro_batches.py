"""The backwards whose gradients each step of an optimizer uses together."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step


def accumulations(analysis: Analysis) -> Iterator[tuple[Step, list[Backward]]]:
    """Each step with the runs since the one before of the same optimizer, as far as they reach its parameters."""
    before: dict[int, int] = {}
    for step in analysis.capture.steps:
        since = before.get(step.optimizer, 0)
        before[step.optimizer] = step.at
        if not step.error:
            runs = [run for run in analysis.capture.completed_runs if since <= run.start <= step.at]
            yield step, [run for run in runs if not step.held.isdisjoint(run.reached)]
