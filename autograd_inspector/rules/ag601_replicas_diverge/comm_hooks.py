"""AG601 where a communication hook of a wrapper reduces nothing, or sums and does not divide."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ranks.losses import mean_as_it_is
from autograd_inspector.analysis.ranks.reductions import Reached
from autograd_inspector.analysis.ranks.repeated_sums import rewritten
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Trait
from autograd_inspector.model.program_events import Communicated, ReductionContinued, ReductionHooked, WrapperCalled
from autograd_inspector.model.wording import summarize_names

_READ = "__get__"
"""The name of the call that reads an attribute."""


def hooked_reductions(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each wrapper, about the first step of that kind."""
    for hook in analysis.capture.events_of(ReductionHooked):
        found = next(_wrong(analysis, hook), None)
        if found is not None:
            yield found


def _wrong(analysis: Analysis, hook: ReductionHooked) -> Iterator[Problem]:
    reductions = analysis.reductions
    calls = [c for c in analysis.capture.events_of(WrapperCalled) if c.wrapper == hook.wrapper and c.synced]
    for reached in reductions.reached:
        tensors = [t for t in reached.reduced if reductions.wrapper_of.get(t) is reductions.wrappers[hook.wrapper]]
        if not tensors or not any(hook.at <= call.at <= reached.run.start for call in calls):
            continue
        made = [c for c in reductions.exchanges.calls if reached.run.start <= c.at <= reached.run.end and c.inside]
        went_on = _continued(analysis, reached.run)
        if not made and not went_on:
            yield _nothing(analysis, hook, tensors, reached.run, reached.step.site)
        elif _only_sums(analysis, made, went_on, reached.run) and mean_as_it_is(analysis.capture, reached.run):
            left = [t for t in tensors if not _divided_behind(analysis, t, reached)]
            if left:
                yield _undivided(analysis, hook, made[0], left, reached.step.site)


def _divided_behind(analysis: Analysis, tensor: int, reached: Reached) -> bool:
    """Whether the program itself scales what the hook has summed, before the step."""
    return rewritten(analysis.capture, analysis.reductions, tensor, reached.run.end, reached.step.updates_from)


def _continued(analysis: Analysis, run: Backward) -> list[ReductionContinued]:
    return [e for e in analysis.capture.events_of(ReductionContinued) if run.start <= e.at <= run.end]


def _only_sums(analysis: Analysis, made: list[Communicated], went_on: list[ReductionContinued], run: Backward) -> bool:
    """Whether what the hook was given is summed, and nothing else is computed with it."""
    if not made or any(call.op != "sum" or call.name != "all_reduce" for call in made):
        return False
    names = [name for event in went_on for name in event.ops]
    ops = analysis.capture.ops[run.start : run.end]
    names += [op.name for op in ops if op.has(Trait.BACKWARD) and not op.has(Trait.COLLECTIVE)]
    return all(is_a(name, OpKind.VIEWS) or name == _READ for name in names)


def _nothing(analysis: Analysis, hook: ReductionHooked, tensors: list[int], run: Backward, step: int) -> Problem:
    names = names_of(analysis, tensors)
    return Problem(
        "error",
        f"the communication hook of {hook.type} reduces nothing: backward() ran, and the hook called no collective, so step() "
        f"updates {summarize_names(names)} with gradients from this rank only and the replicas diverge",
        "Remove the hook, or return the future of an all_reduce of `bucket.buffer()` divided by the number of ranks.",
        analysis.places((hook, "hook registered here"), (run, "backward() called here"), (step, "step() called here")),
        tuple(names),
    )


def _undivided(analysis: Analysis, hook: ReductionHooked, call: Communicated, tensors: list[int], step: int) -> Problem:
    names = names_of(analysis, tensors)
    return Problem(
        "warning",
        f"the communication hook of {hook.type} sums the gradients of {summarize_names(names)} over {call.world} ranks, and "
        f"nothing divides the sum: the loss on each rank is a mean, so the step is {call.world} times as large as without "
        "the hook",
        "Divide in the hook: `bucket.buffer().div_(dist.get_world_size())` before all_reduce, or divide its result.",
        analysis.places(
            (call, f"{call.name} called here"), (hook, "hook registered here"), (step, "step() called here")
        ),
        tuple(names),
    )
