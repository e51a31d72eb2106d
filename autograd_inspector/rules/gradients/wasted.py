"""AG305 where gradients are cleared, again and again, before any step or reader has seen them.

One such backward may be a sanity check, or a round that ended early: gradients that are lost before nearly every step
are cleared too often, in each micro-batch of an accumulation or between the losses of one step. Where none is ever
used, the step is missing.
"""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.event import Step
from autograd_inspector.model.finding import Finding
from autograd_inspector.rules.facts import Facts
from autograd_inspector.rules.gradients.lost import Losses, Lost, windows
from autograd_inspector.rules.wording.names import folded
from autograd_inspector.rules.wording.places import unique

_NEARLY_EVERY = 0.8


def wasted(facts: Facts) -> Iterator[Finding]:
    """One finding for the optimizers that step with what is left, and one for each line that no step follows."""
    losses = Losses(facts)
    lines: dict[int, list[Lost]] = {}
    for lost in losses.found:
        lines.setdefault(lost.run.site, []).append(lost)
    often: dict[tuple[int, ...], list[Lost]] = {}
    for members in lines.values():
        tensors = frozenset[int]().union(*(lost.reached for lost in members))
        steps = [step for step in facts.capture.steps if _holds(step, tensors)]
        if steps and _too_often(facts, losses, members, tensors):
            often.setdefault(tuple(sorted({step.optimizer for step in steps})), []).extend(members)
        again = [lost for lost in members if lost.again]
        if again and not steps and not facts.capture.history.steps:
            yield _never_stepped(facts, again)
    for optimizers, members in often.items():
        yield _cleared_too_often(facts, losses, members, optimizers)


def _holds(step: Step, tensors: frozenset[int]) -> bool:
    return any(p.tensor in tensors for p in step.parameters)


def _too_often(facts: Facts, losses: Losses, members: list[Lost], tensors: frozenset[int]) -> bool:
    """Whether nearly every step, the first one included, lost some; one that breaks off leaves the first step alone."""
    served = [run for run in losses.served if not tensors.isdisjoint(run.reached)]
    spans = list(windows(facts, tensors))
    lossy = [any(start < lost.run.start <= end for lost in members) for start, end in spans]
    alike = len(spans) > 1 or any(run.site == members[0].run.site for run in served)
    if len(members) < 2 or not served or not alike:
        return False
    return _nearly_every(lossy) if not facts.capture.history.folded else any(lossy) and _always_so_many(facts)


def _nearly_every(lossy: list[bool]) -> bool:
    return bool(lossy) and lossy[0] and sum(lossy) >= _NEARLY_EVERY * len(lossy)


def _always_so_many(facts: Facts) -> bool:
    """Whether the steps that are folded away had as many backwards as those that are left."""
    history = facts.capture.history
    counts = list(history.backwards)[: history.steps]
    usual = min(counts[history.folded :], default=0)
    return usual > 1 and _nearly_every([count >= usual for count in counts])


def _cleared_too_often(facts: Facts, losses: Losses, members: list[Lost], optimizers: tuple[int, ...]) -> Finding:
    tensors = list(dict.fromkeys(t for lost in members for t in lost.run.reached if t in lost.reached))
    used = {t for run in losses.served for t in run.reached}
    last = [facts.name(t) for t in tensors if t in used]
    never = [facts.name(t) for t in tensors if t not in used]
    counts = [f"only the last counts for {folded(last)}"] * bool(last) + [f"none counts for {folded(never)}"] * bool(
        never
    )
    steps = [step for step in facts.capture.steps if step.optimizer in optimizers]
    return Finding(
        "AG305",
        "gradient-protocol",
        "warning",
        f"zero_grad() cleared the gradients of {len(members)} backward() calls before any step() used them: of those "
        f"for one step {', and '.join(counts)}",
        "Where several backward() calls serve one step (micro-batches, several losses), call zero_grad() once for each "
        "step(), right after it.",
        unique(
            [
                *(place for lost in reversed(members) for place in facts.chain(lost.site, "cleared too often here")),
                *(place for lost in members for place in facts.chain(lost.run.site, "gradients computed here")),
                *facts.chain(steps[-1].site, "step() uses the last ones only"),
            ]
        ),
        tuple(dict.fromkeys([*last, *never])),
    )


def _never_stepped(facts: Facts, members: list[Lost]) -> Finding:
    lost = members[-1]
    names = [facts.name(t) for t in lost.run.reached]
    return Finding(
        "AG305",
        "gradient-protocol",
        "warning",
        f"zero_grad() clears the gradients that backward() computed, and no step() ever uses them: {folded(names)} "
        f"{'do' if len(names) > 1 else 'does'} not move",
        "Call optimizer.step() (with its parentheses) between backward() and the next zero_grad().",
        unique(
            [*facts.chain(lost.run.site, "gradients computed here"), *facts.chain(lost.site, "cleared here, unused")]
        ),
        tuple(dict.fromkeys(names)),
    )
