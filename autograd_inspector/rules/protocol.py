"""AG305: zero_grad, backward, clip and step, in the order that training needs."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.op import Trait
from autograd_inspector.rules.catalogue import Facts, folded, rule, unique


@rule("AG305", "gradient-protocol")
def gradient_protocol(facts: Facts) -> Iterator[Finding]:
    """zero_grad, backward, unscale, clip, step: one is missing or out of order.

    Why it matters
        Gradients cleared before the step are lost, gradients never cleared add up, a step without backward does
        nothing. None of it raises.

    Example
        ::

            net(x).pow(2).mean().backward()
            optimizer.zero_grad()
            optimizer.step()

    Fix
        ::

            optimizer.zero_grad()
            net(x).pow(2).mean().backward()
            optimizer.step()

    References
        "Taking an optimization step" in the documentation of torch.optim.
    """
    told: set[tuple[str, int]] = set()
    for number, step in enumerate(facts.capture.steps):
        for kind, finding in _judged(facts, number, step):
            if (kind, step.site) not in told:
                told.add((kind, step.site))
                yield finding


def _judged(facts: Facts, number: int, step: Step) -> Iterator[tuple[str, Finding]]:
    previous = [s.at for s in facts.capture.steps[:number] if s.optimizer == step.optimizer]
    since = previous[-1] if previous else -1
    runs = [
        run
        for run in facts.capture.backwards
        if run.api == "backward" and not run.error and since < run.start <= step.at
    ]
    trainable = {p.tensor for p in step.parameters if facts.requires_grad_at(p.tensor, step.at)}
    if not trainable:
        return
    reached = {t for run in runs for t in run.reached if t not in run.empty} & trainable
    if all(p.gradient < 0 for p in step.parameters) and not step.error and not _closure(facts, step):
        clearing = [
            c
            for c in facts.capture.changes
            if c.kind == "zero_grad" and runs and runs[-1].end <= c.at <= step.at and c.optimizer == step.optimizer
        ]
        if clearing and reached:
            yield "cleared", _cleared(facts, step, clearing[-1].site, runs[-1])
        elif not runs and not reached and not facts.capture.backwards:
            yield "missing", _no_backward(facts, step)
        return
    stale = [t for run in runs[:1] for t in run.stale if t in reached]
    if stale and not _cleared_between(facts, stale, since, runs[0]):
        yield "stale", _accumulated(facts, step, stale, runs[0], first=not previous)


def _closure(facts: Facts, step: Step) -> bool:
    """Whether the step ran the program's closure: its gradients were not there yet when it began."""
    return any(p.gradient < 0 and p.version_after > p.version_before for p in step.parameters) or any(
        run.start <= step.at and run.site >= 0 and step.site in {run.site} for run in facts.capture.backwards
    )


def _cleared_between(facts: Facts, tensors: list[int], since: int, run: Backward) -> bool:
    """Whether the program cleared or replaced gradients between the last step and this backward."""
    capture = facts.capture
    if any(c.kind == "zero_grad" and since <= c.at <= run.start for c in capture.changes):
        return True
    if any(since <= w.at <= run.start and w.tensor in tensors for w in capture.grad_writes):
        return True
    gradients = {r.gradient for r in capture.grad_reads if r.tensor in tensors and r.gradient >= 0}
    gradients |= {p.gradient for s in capture.steps for p in s.parameters if p.tensor in tensors}
    return any(
        w.tensor in gradients
        for op in capture.ops[max(since, 0) : run.start]
        if not op.has(Trait.STEP)
        for w in op.writes
    )


def _cleared(facts: Facts, step: Step, site: int, run: Backward) -> Finding:
    names = [facts.name(p.tensor) for p in step.parameters]
    return Finding(
        "AG305",
        "gradient-protocol",
        "warning",
        "zero_grad() runs after backward() and before step(): the gradients are cleared before they are used, so step() "
        f"moves none of {folded(names)}",
        "Call zero_grad() before backward(), or after step().",
        unique([
            *facts.chain(site, "gradients cleared here"),
            *facts.chain(run.site, "gradients computed here"),
            *facts.chain(step.site, "step() finds none here"),
        ]),
        tuple(dict.fromkeys(names)),
        ops=(step.op,),
    )


def _no_backward(facts: Facts, step: Step) -> Finding:
    names = [facts.name(p.tensor) for p in step.parameters]
    return Finding(
        "AG305",
        "gradient-protocol",
        "warning",
        f"step() ran without a backward(): {folded(names)} {'have' if len(names) > 1 else 'has'} no gradient and "
        f"{'do' if len(names) > 1 else 'does'} not move",
        "Call loss.backward() before optimizer.step().",
        facts.chain(step.site, "step() without gradients"),
        tuple(dict.fromkeys(names)),
        ops=(step.op,),
    )


def _accumulated(facts: Facts, step: Step, stale: list[int], run: Backward, *, first: bool) -> Finding:
    names = [facts.name(t) for t in stale]
    why = (
        "already had a .grad when the capture began, and nothing cleared it: the first step uses the sum of old and new "
        "gradients"
        if first
        else "still had the .grad of the step before, and nothing cleared it: gradients add up from step to step"
    )
    return Finding(
        "AG305",
        "gradient-protocol",
        "warning",
        f"{folded(names)} {why}",
        "Call optimizer.zero_grad() before backward().",
        unique([*facts.chain(run.site, "added to old gradients here"), *facts.chain(step.site, "step() uses the sum here")]),
        tuple(dict.fromkeys(names)),
        ops=(step.op,),
    )
