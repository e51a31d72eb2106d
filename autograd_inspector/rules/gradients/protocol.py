"""AG305: zero_grad, backward, clip and step, in the order that training needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step
from autograd_inspector.model.finding import Finding
from autograd_inspector.rules.catalogue import rule
from autograd_inspector.rules.facts import Facts
from autograd_inspector.rules.gradients.by_hand import misled_updates
from autograd_inspector.rules.gradients.clearing import cleared_before, renewed
from autograd_inspector.rules.gradients.clipping import misplaced_clipping
from autograd_inspector.rules.gradients.never_called import never_called
from autograd_inspector.rules.gradients.none_read import too_early_or_late
from autograd_inspector.rules.gradients.scaled import scaled_gradients
from autograd_inspector.rules.gradients.wasted import wasted
from autograd_inspector.rules.wording.names import folded
from autograd_inspector.rules.wording.places import unique


@rule("AG305", "gradient-protocol")
def gradient_protocol(facts: Facts) -> Iterator[Finding]:
    """zero_grad, backward, unscale, clip, step: one is missing or out of order.

    Why it matters
        Gradients cleared before the step are lost, gradients never cleared add up, a step without backward does
        nothing, and neither does `p = p - lr * p.grad`, which gives a variable another tensor. None of it raises.

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
    last: dict[int, int] = {}
    for step in facts.capture.steps:
        since = last.get(step.optimizer)
        last[step.optimizer] = step.at
        for kind, finding in _judged(facts, since, step):
            if (kind, step.site) not in told:
                told.add((kind, step.site))
                yield finding
    yield from wasted(facts)
    yield from misplaced_clipping(facts)
    yield from scaled_gradients(facts)
    yield from too_early_or_late(facts)
    yield from misled_updates(facts)


def _judged(facts: Facts, previous: int | None, step: Step) -> Iterator[tuple[str, Finding]]:
    """What is wrong with a step; ``previous``: when the same optimizer had stepped before."""
    if (
        facts.capture.history.folded
        and previous is None
        and facts.forgotten.keys().isdisjoint(p.tensor for p in step.parameters)
    ):
        return  # What came between its last step and this one is folded away.
    since = -1 if previous is None else previous
    runs = facts.timeline.backwards
    within = runs.places(since + 1, step.at)
    last = runs.all[within[-1]] if within else None
    trainable = {p.tensor for p in step.parameters if facts.requires_grad_at(p.tensor, step.at)}
    if not trainable:
        return
    missing = None if step.error or _closure(facts, step) else never_called(facts, step, since, last, trainable)
    if missing is not None:
        yield "missing", missing
        return
    reached = {tensor for tensor in trainable if _reached(facts, tensor, since, step)}
    if last is not None and reached and not step.error and not _closure(facts, step):
        site = cleared_before(facts, step, reached, last)
        if site is not None:
            yield "cleared", _cleared(facts, step, site, last)
            return
    if all(p.gradient < 0 for p in step.parameters) and not step.error and not _closure(facts, step):
        return
    for run, stale in _first_to_add(facts, reached, since, step):
        # Another loss may run through a critic in between: what it leaves there is cleared with the rest, later.
        latest = max((_runs_to(facts, tensor, since, step)[-1] for tensor in stale), key=lambda r: r.index)
        if not renewed(facts, stale, since, latest):
            yield "stale", _accumulated(facts, step, stale, run, first=previous is None)
            return


def _runs_to(facts: Facts, tensor: int, since: int, step: Step) -> Sequence[Backward]:
    """The backwards between an optimizer's step and the one before that reached a parameter."""
    return facts.timeline.backwards_to(tensor).within(since + 1, step.at)


def _reached(facts: Facts, tensor: int, since: int, step: Step) -> bool:
    return any(tensor not in facts.timeline.empty(run) for run in _runs_to(facts, tensor, since, step))


def _first_to_add(facts: Facts, reached: set[int], since: int, step: Step) -> list[tuple[Backward, list[int]]]:
    """(backward, the parameters that it was the first to reach, and whose ``.grad`` was there already)."""
    found: dict[int, tuple[Backward, list[int]]] = {}
    for tensor in reached:
        run = _runs_to(facts, tensor, since, step)[0]
        if tensor in facts.timeline.stale(run):
            found.setdefault(run.index, (run, []))[1].append(tensor)
    return [
        (run, sorted(stale, key=facts.timeline.stale(run).__getitem__)) for _, (run, stale) in sorted(found.items())
    ]


def _closure(facts: Facts, step: Step) -> bool:
    """Whether the step ran the program's closure: its gradients were not there yet when it began."""
    if any(p.gradient < 0 and p.version_after > p.version_before for p in step.parameters):
        return True
    return step.site >= 0 and facts.timeline.first_at(step.site) <= step.at


def _cleared(facts: Facts, step: Step, site: int, run: Backward) -> Finding:
    names = [facts.name(p.tensor) for p in step.parameters]
    late = _comes_later(facts, run.site, step.site)
    text = (
        "step() comes before backward() in the loop, and the gradients of the round before are cleared by then"
        if late
        else "zero_grad() runs after backward() and before step(): the gradients are cleared before they are used"
    )
    clearing = facts.chain(site, "gradients cleared here")
    stepping = facts.chain(step.site, "step() finds none here")
    return Finding(
        "AG305",
        "gradient-protocol",
        "warning",
        f"{text}, so step() moves none of {folded(names)}",
        "Call zero_grad() before backward(), or after step(): zero_grad, backward, step.",
        unique(
            [
                *(stepping if late else clearing),
                *(clearing if late else ()),
                *facts.chain(run.site, "gradients computed here"),
                *stepping,
            ]
        ),
        tuple(dict.fromkeys(names)),
        ops=(step.op,),
    )


def _comes_later(facts: Facts, one: int, other: int) -> bool:
    """Whether one line stands below another in the same function."""
    a, b = facts.capture.place(one), facts.capture.place(other)
    return (
        a is not None and b is not None and (a.filename, a.function) == (b.filename, b.function) and a.lineno > b.lineno
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
        _clearing_fix(facts, step, run),
        unique(
            [*facts.chain(run.site, "added to old gradients here"), *facts.chain(step.site, "step() uses the sum here")]
        ),
        tuple(dict.fromkeys(names)),
        ops=(step.op,),
    )


def _clearing_fix(facts: Facts, step: Step, run: Backward) -> str:
    """Where several backwards serve one step, clearing before each of them would leave the step the last one only."""
    runs = sum(r.site == run.site and not r.error for r in facts.capture.backwards)
    steps = sum(s.optimizer == step.optimizer for s in facts.capture.steps)
    if steps < runs:
        return "Call optimizer.zero_grad() once for each step(), right after it."
    return "Call optimizer.zero_grad() before backward()."
