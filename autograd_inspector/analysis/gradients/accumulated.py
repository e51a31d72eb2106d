"""Micro-batches that a library accumulates, of which the program does a part past that library."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step
from autograd_inspector.model.program_events import ParametersConverted, SteppedAccumulating


class StepsEachTime(Struct, frozen=True):
    """A step of a micro-batch that was not the last; ``prepared``: where the library was given the model."""

    event: SteppedAccumulating
    run: Backward
    prepared: tuple[int, ...]


class NotDivided(Struct, frozen=True):
    """A step of the library's with gradients that ``runs``, which the program called itself, have added up."""

    event: SteppedAccumulating
    step: Step
    runs: tuple[Backward, ...]


def steps_each_time(analysis: Analysis) -> Iterator[StepsEachTime]:
    """The first time for each optimizer: the library gave the gradient, and was not asked whether to step."""
    told: set[int] = set()
    for event, runs, _ in _steps(analysis):
        if event.due or event.optimizer in told or not runs or not _by_library(analysis, runs[-1].site):
            continue
        if not _by_library(analysis, event.site):
            told.add(event.optimizer)
            held = set(analysis.capture.placement.optimizers[event.optimizer].held)
            converted = (c for c in analysis.capture.events_of(ParametersConverted) if held & set(c.tensors))
            prepared = tuple(c.site for c in converted if _by_library(analysis, c.site))
            yield StepsEachTime(event, runs[-1], prepared)


def not_divided(analysis: Analysis) -> Iterator[NotDivided]:
    """The first time for each optimizer: the library steps, and the program called backward() itself, several times."""
    told: set[int] = set()
    for event, runs, step in _steps(analysis):
        mine = tuple(run for run in runs if not _by_library(analysis, run.site) and not _scaled(analysis, run))
        summed = len(mine) > 1 and len(mine) == len(runs)
        if summed and event.due and event.optimizer not in told and _by_library(analysis, event.site):
            told.add(event.optimizer)
            yield NotDivided(event, step, mine)


def _steps(analysis: Analysis) -> Iterator[tuple[SteppedAccumulating, list[Backward], Step]]:
    """(event, the backwards since the step before that reached its parameters, the step)."""
    steps = {(step.optimizer, step.start): step for step in analysis.capture.steps}
    since: dict[int, int] = {}
    for event in analysis.capture.events_of(SteppedAccumulating):
        step = steps.get((event.optimizer, event.at))
        if step is None:
            continue
        held = {p.tensor for p in step.parameters}
        within = analysis.timeline.backwards.within(since.get(event.optimizer, -1) + 1, step.start)
        since[event.optimizer] = step.at
        yield event, [run for run in within if not held.isdisjoint(run.reached)], step


def _by_library(analysis: Analysis, site: int) -> bool:
    """Whether installed code made the call, for the program."""
    frames = analysis.capture.site(site)
    return len(frames) > 1 and frames[0].library


def _scaled(analysis: Analysis, run: Backward) -> bool:
    """Whether the loss was divided, or multiplied, last of all: by the number of micro-batches perhaps."""
    made = [analysis.flow.birth(root) for root in run.roots]
    return any(op is not None and is_a(op.name, OpKind.MULTIPLIES | OpKind.DIVIDES) for op in made)
