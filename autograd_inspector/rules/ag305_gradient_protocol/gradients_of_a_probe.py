"""AG305 where a backward behind the training's own is run for the gradient of an input, and the step uses the sum.

A saliency map, or another picture of what a network attends to, reads ``x.grad`` of an input of its own: no loss of the
training was computed from it. Its backward fills the parameters' ``.grad`` as well. A second loss may be meant to add
its gradients to the first one's. This one is not where the training does without it in other steps, or where the network
is in another mode for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from autograd_inspector.advice.naming import name_of, names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.sources import Consumed, Contribution, GradientSources
from autograd_inspector.model.event import Step
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names
from autograd_inspector.rules.ag305_gradient_protocol.gradients_of_an_input import modes_differ


class Probe(Struct, frozen=True):
    """``run`` was for the gradients of ``inputs``; ``own`` is the training's, before it. ``tensors`` step with the sum."""

    step: Step
    own: Contribution
    run: Contribution
    inputs: tuple[int, ...]
    tensors: tuple[int, ...]


def left_by_probes(analysis: Analysis, sources: GradientSources) -> Iterator[Problem]:
    """One finding for each line whose backward leaves such gradients."""
    reported: set[int] = set()
    alone = _Alone(analysis, sources)
    for step in analysis.capture.steps:
        probe = None if step.computed or step.error else _probe(analysis, sources, step)
        if probe is None or probe.run.run.site in reported:
            continue
        other = modes_differ(analysis, (probe.run.run,), probe.own.run)
        if other or alone.somewhere(probe):
            reported.add(probe.run.run.site)
            yield _finding(analysis, probe)


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


def _finding(analysis: Analysis, probe: Probe) -> Problem:
    names = names_of(analysis, probe.tensors)
    inputs = summarize_names(name_of(analysis, tensor) for tensor in probe.inputs)
    return Problem(
        "warning",
        f"a backward() that the program ran for the gradient of {inputs} also adds its gradients to {summarize_names(names)}: it comes "
        f"after the backward() of the training loss, and step() updates {agree(names, 'it', 'them')} with the sum",
        f"Take the gradient of {inputs} alone: `torch.autograd.grad(loss, {inputs})` does not write to `.grad` of the parameters. Or "
        "run this backward() before the gradients are cleared for the training loss.",
        analysis.places(
            (probe.run.run, "adds gradients to those of the training loss here"),
            (probe.own.run, "training loss backpropagated here"),
            (probe.step, "step() uses the sum here"),
        ),
        tuple(names),
        ops=(probe.step.op,),
    )
