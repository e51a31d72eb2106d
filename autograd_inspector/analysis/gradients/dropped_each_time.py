"""Gradients that the program drops between backward() and step(), at every step."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.memory import zeroed_in_place
from autograd_inspector.model.event import ParameterStep, Step


def dropped_in_each_step(analysis: Analysis) -> Iterator[tuple[int, list[int], Step]]:
    """(site, parameters, their last step) for each line that drops."""
    by_site: dict[int, list[int]] = {}
    last: dict[int, Step] = {}
    for tensor, sites in _sites(analysis, last).items():
        if sites and -1 not in sites:
            by_site.setdefault(sites[-1], []).append(tensor)
    for site, tensors in by_site.items():
        yield site, tensors, last[tensors[0]]


def _sites(analysis: Analysis, last: dict[int, Step]) -> dict[int, list[int]]:
    """Parameter -> for each step the line that dropped its gradient; -1 where the step had one, or nobody dropped any."""
    sites: dict[int, list[int]] = {}
    since: dict[int, int] = {}
    for step in analysis.capture.steps:
        start = since.get(step.optimizer, -1)
        since[step.optimizer] = step.at
        if step.error or step.computed or not any(p.gradient >= 0 for p in step.parameters):
            continue  # Without any gradient the step is idle as a whole: that is told by itself.
        for parameter in step.parameters:
            last[parameter.tensor] = step
            sites.setdefault(parameter.tensor, []).append(_site(analysis, parameter, start, step))
    return sites


def _site(analysis: Analysis, parameter: ParameterStep, since: int, step: Step) -> int:
    tensor = parameter.tensor
    runs = analysis.timeline.backwards_to(tensor).within(since + 1, step.at)
    runs = [run for run in runs if tensor not in analysis.timeline.empty(run)]
    if not runs:
        return -1
    if parameter.gradient >= 0:
        zeroed = zeroed_in_place(analysis, [parameter.gradient], runs[-1].end, step.at)
        return -1 if zeroed is None else zeroed.site
    writes = analysis.timeline.writes_of(tensor).within(runs[-1].end, step.at)
    dropped = [write.site for write in writes if write.gradient < 0]
    return dropped[-1] if dropped else -1
