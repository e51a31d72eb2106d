"""Backwards behind the training's own that were run for the gradient of an input: the step uses the sum."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.of_an_input import modes_differ
from autograd_inspector.analysis.gradients.sources import Consumed, Contribution, GradientSources
from autograd_inspector.model.event import Step


class Probe(Struct, frozen=True):
    """``run`` was for the gradients of ``inputs``; ``own`` is the training's, before it. ``tensors`` step with the sum."""

    step: Step
    own: Contribution
    run: Contribution
    inputs: tuple[int, ...]
    tensors: tuple[int, ...]


def probes(analysis: Analysis, sources: GradientSources) -> Iterator[Probe]:
    """The first step for each line whose backward leaves such gradients."""
    reported: set[int] = set()
    alone = _Alone(analysis, sources)
    for step in analysis.capture.steps:
        probe = None if step.computed or step.error else _probe(analysis, sources, step)
        if probe is None or probe.run.run.site in reported:
            continue
        other = modes_differ(analysis, (probe.run.run,), probe.own.run)
        if other or alone.somewhere(probe):
            reported.add(probe.run.run.site)
            yield probe


class _Alone:
    """The lines of the backwards that each step uses, worked out when it is asked for."""

    def __init__(self, analysis: Analysis, sources: GradientSources) -> None:
        self._analysis, self._sources = analysis, sources
        self._lines: dict[int, list[frozenset[int]]] = {}

    def somewhere(self, probe: Probe) -> bool:
        """Whether the optimizer has steps that use the training's own backward without the other one."""
        optimizer = probe.step.optimizer
        if optimizer not in self._lines:
            steps = self._analysis.timeline.steps_of(optimizer).all
            self._lines[optimizer] = [_sites(self._sources.of(step)) for step in steps if not step.error]
        own, other = probe.own.run.site, probe.run.run.site
        return any(own in sites and other not in sites for sites in self._lines[optimizer])


def _sites(consumed: Iterable[Consumed]) -> frozenset[int]:
    return frozenset(c.run.site for each in consumed for c in each.contributions)


def _probe(analysis: Analysis, sources: GradientSources, step: Step) -> Probe | None:
    summed = [each for each in sources.of(step) if len(each.contributions) > 1]
    if not summed:
        return None
    last = max((each.contributions[-1] for each in summed), key=lambda contribution: contribution.start)
    inputs = _read(analysis, last, step)
    tensors, own = [], None
    for each in summed:
        *before, end = each.contributions
        if end.run.index == last.run.index and all(c.run.site != last.run.site for c in before):
            tensors.append(each.tensor)
            own = before[-1]
    if own is None or not inputs or not inputs.isdisjoint(own.run.reached):
        return None
    return Probe(step, own, last, tuple(sorted(inputs)), tuple(tensors))


def _read(analysis: Analysis, contribution: Contribution, step: Step) -> set[int]:
    """The leaves without an optimizer whose gradient of that backward the program read before the step."""
    optimized = analysis.capture.optimized
    return {
        leaf
        for leaf in contribution.run.reached
        if leaf not in optimized
        for read in analysis.timeline.reads_of(leaf).within(contribution.end, step.at)
        if read.gradient >= 0 and read.clips < 0
    }
