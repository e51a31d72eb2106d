"""AG305 where gradients computed at several values of the same parameters are added up, and one step uses the sum.

A closure that a step evaluates at one value after the other has to clear them itself. A program that moves its
parameters up their gradients and computes the gradients again (sharpness-aware minimization) wants those of the second
place, as a rule. Who perturbs a part of them only, such as the embeddings, may want both; so may who goes down the first
gradients for a look ahead: methods of two places (Heun, extragradient) step by the mean of both slopes.
"""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.advice.remedies.meeting import meeting
from autograd_inspector.advice.remedies.protocol import added_between
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.at_two_values import (
    added_at_new_points,
    descends,
    evaluated_at_several,
)
from autograd_inspector.analysis.gradients.batches import same_batch
from autograd_inspector.analysis.gradients.driven import driven_by
from autograd_inspector.analysis.gradients.sources import Consumed, Contribution, GradientSources
from autograd_inspector.model.event import Step
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location, with_role
from autograd_inspector.model.wording import agree, summarize_names
from autograd_inspector.rules.ag305_gradient_protocol.clearing_call import clearing_call


def several_evaluations(analysis: Analysis, sources: GradientSources) -> dict[int, Problem]:
    """Optimizer -> the finding about a closure of its that never clears what the evaluation before has left."""
    found = evaluated_at_several(analysis, sources)
    return {optimizer: _evaluations(analysis, *each) for optimizer, each in found.items()}


def _evaluations(analysis: Analysis, step: Step, added: list[Consumed]) -> Problem:
    names = names_of(analysis, (each.tensor for each in added))
    second = next(each for each in added[0].contributions[1:] if each.start >= step.start)
    clearing = clearing_call(analysis, step, step.start)
    return Problem(
        "warning",
        "the closure that step() runs never clears the gradients: step() evaluates it at several values of "
        f"{summarize_names(names)}, and each evaluation adds its gradients to the earlier ones",
        f"Call `{clearing}` at the beginning of the closure.",
        (
            *_loss_line(analysis, second, "computed again here, with the old gradients still there"),
            *analysis.places((second.run, "added to old gradients here"), (step, "step() evaluates the closure here")),
        ),
        tuple(names),
        ops=(step.op,),
        cures=tuple(added_between(analysis, clearing, second.run.site)),
    )


def _loss_line(analysis: Analysis, contribution: Contribution, role: str) -> tuple[Location, ...]:
    """The line that computed a loss, in the innermost function that its backward() was called from as well."""
    births = filter(None, map(analysis.flow.birth, contribution.run.roots))
    pairs = (meeting(analysis, made.site, contribution.run.site) for made in births)
    return tuple(with_role(pair[0], role) for pair in pairs if pair is not None)[:1]


def moved_between(analysis: Analysis, sources: GradientSources) -> Iterator[Problem]:
    """One finding for each line at which a second gradient is added to the one that has moved the parameters."""
    for pair, moved, whole in added_at_new_points(analysis, sources):
        step, first, second = pair.step, pair.first, pair.second
        names = names_of(analysis, moved)
        moving = driven_by(analysis, moved, first.end, second.start)
        writes = [op for tensor in moved for op in moving.storages.get(analysis.capture.tensors[tensor].storage, ())]
        again = same_batch(analysis, first.run, second.run, sources.since(step), step.at)
        wrong = whole and again and not descends(analysis, moving, writes, pair)
        text = f"{summarize_names(names)} {agree(names, 'was', 'were')} moved by {agree(names, 'its', 'their')} gradients, and the gradients at the new point are added to those at the old one: nothing cleared them, and step() uses the sum"
        clearing = clearing_call(analysis, step, first.start)
        fix = f"Call `{clearing}` between the two backward() calls, after the gradients have moved the parameters."
        if not wrong:
            fix = f"If the step should use only the gradients at the new point: {fix[0].lower()}{fix[1:]}"
        yield Problem(
            "warning" if wrong else "info",
            text,
            fix,
            analysis.places(
                (second.run, "added to the gradients of the old point here"),
                (writes[0], "moved by its gradients here"),
                (first.run, "gradients at the old point computed here"),
                (step, "step() uses the sum here"),
            ),
            tuple(names),
            ops=(step.op,),
            cures=tuple(added_between(analysis, clearing, second.run.site)) if wrong else (),
        )
