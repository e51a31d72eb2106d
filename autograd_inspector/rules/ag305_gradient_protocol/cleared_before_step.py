"""AG305 where gradients are cleared, again and again, before any step or reader has seen them.

One such backward may be a sanity check, or a round that ended early: where as many are lost as are used, and not once
alone, they are cleared too often, in each micro-batch of an accumulation or between the losses of one step. Where none
is ever used, the step is missing.
"""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.protocol import cleared_once, optimizer_name, stepped_after
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.cleared_too_often import (
    another_in_its_place,
    cleared_too_often,
    ever_steps,
    holds_some,
)
from autograd_inspector.analysis.gradients.discarded import Losses, Lost
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names
from autograd_inspector.rules.ag305_gradient_protocol.left_over import left_over


def wasted(analysis: Analysis) -> Iterator[Problem]:
    """One finding for the optimizers that step with what is left, and one for each line that no step follows."""
    losses = Losses(analysis)
    often: dict[tuple[int, ...], list[Lost]] = {}
    for members in grouped((*losses.lost, *losses.partly), lambda lost: lost.run.site).values():
        tensors = frozenset[int]().union(*(lost.reached for lost in members))
        steps = [step for step in analysis.capture.steps if holds_some(step, tensors)]
        if steps and cleared_too_often(analysis, losses, members, tensors):
            often.setdefault(tuple(sorted({step.optimizer for step in steps})), []).extend(members)
        again = [lost for lost in members if lost.again and lost not in losses.partly]
        idle = {tensor for tensor in tensors if not ever_steps(analysis, tensor)}
        if again and idle:
            yield _never_stepped(analysis, again, idle)
    for optimizers, members in often.items():
        yield _cleared_too_often(analysis, losses, members, optimizers)
    if not often:
        yield from left_over(analysis, losses)


def _cleared_too_often(analysis: Analysis, losses: Losses, members: list[Lost], optimizers: tuple[int, ...]) -> Problem:
    tensors = list(dict.fromkeys(t for lost in members for t in lost.run.reached if t in lost.reached))
    used = {t for run in losses.served for t in run.reached}
    last = [name_of(analysis, t) for t in tensors if t in used]
    never = [name_of(analysis, t) for t in tensors if t not in used]
    counts = [f"only the last backward() before each step contributes to {summarize_names(last)}"] * bool(last) + [
        f"none contributes to {summarize_names(never)}"
    ] * bool(never)
    steps = [step for step in analysis.capture.steps if step.optimizer in optimizers]
    return Problem(
        "warning",
        f"zero_grad() cleared the gradients of {len(members)} backward() calls before any step() used them: "
        f"{', and '.join(counts)}",
        "If several backward() calls belong to one step (micro-batches, several losses), call zero_grad() once for each "
        "step(), right after it.",
        analysis.places(
            *((lost, "cleared too often here") for lost in reversed(members)),
            *((lost.run, "gradients computed here") for lost in members),
            (steps[-1], "step() uses the last ones only"),
        ),
        (*last, *never),
        cures=tuple(
            cleared_once(
                analysis, members[-1].site, members[-1].run.site, steps[-1], again=any(lost.again for lost in members)
            )
        ),
    )


def _never_stepped(analysis: Analysis, members: list[Lost], idle: set[int]) -> Problem:
    lost = members[-1]
    names = [name_of(analysis, t) for t in lost.run.reached if t in idle]
    holders = analysis.capture.placement.holding(idle)
    own = variable(analysis, holders[0]) if holders else "optimizer"
    other = another_in_its_place(analysis, lost, {each.id for each in holders})
    instead = f"; `{optimizer_name(analysis, other)}.step()`, which runs in between, has none of them" if other else ""
    return Problem(
        "warning",
        f"zero_grad() clears the gradients that backward() computed, and no step() ever uses them: {summarize_names(names)} "
        f"{agree(names, 'does', 'do')} not move{instead}",
        f"Call {own}.step() (with its parentheses) between backward() and the next zero_grad().",
        analysis.places(
            (other, "another optimizer steps here"),
            (lost.run, "gradients computed here"),
            (lost, "cleared here, unused"),
        ),
        tuple(names),
        cures=tuple(cure for each in holders[:1] for cure in stepped_after(analysis, lost.run, each)),
    )
