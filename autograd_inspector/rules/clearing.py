"""Who cleared which gradients, and when: zero_grad, `.grad = None`, zero_() in place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Change, Step
from autograd_inspector.model.finding import Finding
from autograd_inspector.rules.catalogue import Facts, folded, unique
from autograd_inspector.rules.gradient_memory import gradients_of, writes_into, zeroed_in_place


def clears(facts: Facts, change: Change, tensors: Iterable[int]) -> bool:
    """Whether it is a zero_grad() of an optimizer that holds some of the parameters."""
    if change.kind != "zero_grad" or change.optimizer < 0:
        return False
    held = {t for group in facts.capture.placement.optimizers[change.optimizer].parameters for t in group}
    return not held.isdisjoint(tensors)


def renewed(facts: Facts, tensors: list[int], since: int, run: Backward) -> bool:
    """Whether the program cleared or replaced gradients between the last step and this backward."""
    capture = facts.capture
    if any(since <= c.at <= run.start and clears(facts, c, tensors) for c in capture.changes):
        return True
    if any(since <= w.at <= run.start and w.tensor in tensors for w in capture.grad_writes):
        return True
    return any(True for g in gradients_of(facts, tensors) for _ in writes_into(facts, g, max(since, 0), run.start))


def cleared_before(facts: Facts, step: Step, reached: set[int], run: Backward) -> int | None:
    """The site that cleared all gradients of a backward before the step could use them; None when none did."""
    facing = [p for p in step.parameters if p.tensor in reached]
    if all(p.gradient < 0 for p in facing):
        return _dropped(facts, step, reached, run)
    if any(p.gradient < 0 for p in facing):
        return None
    zeroed = [zeroed_in_place(facts, [p.gradient], run.end, step.at) for p in facing]
    found = [op for op in zeroed if op is not None]
    return max(found, key=lambda op: op.index).site if len(found) == len(facing) else None


def _dropped(facts: Facts, step: Step, reached: set[int], run: Backward) -> int | None:
    capture = facts.capture
    calls = [c for c in capture.changes if run.end <= c.at <= step.at and clears(facts, c, reached)]
    if calls:
        return calls[-1].site
    writes = [w for w in capture.grad_writes if run.end <= w.at <= step.at and w.gradient < 0 and w.tensor in reached]
    return writes[-1].site if writes else None


def wasted(facts: Facts) -> Iterator[Finding]:
    """Backwards whose gradients are cleared, again and again, before any step or reader has seen them.

    One such backward may be a sanity check; where the same line also computes gradients that are used, the clearing
    happens too often: in each micro-batch of an accumulation. Where none is ever used, the step is missing.
    """
    capture = facts.capture
    runs = [r for r in capture.backwards if r.api == "backward" and not r.error and not _in_closure(facts, r)]
    lost: dict[int, list[tuple[Backward, int]]] = {}
    for run, following in pairwise(runs):
        reached = {t for t in run.reached if t not in run.empty}
        if (
            following.site != run.site
            or not reached
            or not reached <= capture.optimized
            or set(following.stale) & reached
        ):
            continue
        used = any(run.end <= s.at < following.start and _holds(s, reached) for s in capture.steps)
        read = any(run.end <= r.at <= following.start and r.tensor in reached for r in capture.grad_reads)
        sites = [c.site for c in capture.changes if run.end <= c.at <= following.start and clears(facts, c, reached)]
        if sites and not used and not read:
            lost.setdefault(run.site, []).append((run, sites[-1]))
    for site, members in lost.items():
        served = [r for r in runs if r.site == site and r not in [run for run, _ in members]]
        if len(members) >= 2 and served and capture.steps:
            yield _too_often(facts, members)
        elif not capture.history.steps and not any(_holds(s, set(members[0][0].reached)) for s in capture.steps):
            yield _never_stepped(facts, members)


def _in_closure(facts: Facts, run: Backward) -> bool:
    """Whether a step called it: a line search computes gradients as often as it likes."""
    callers = {(frame.filename, frame.lineno) for frame in facts.capture.site(run.site)}
    places = [facts.capture.place(step.site) for step in facts.capture.steps]
    return run.nested_in >= 0 or any(
        place is not None and (place.filename, place.lineno) in callers for place in places
    )


def _holds(step: Step, tensors: set[int]) -> bool:
    return any(p.tensor in tensors for p in step.parameters)


def _too_often(facts: Facts, members: list[tuple[Backward, int]]) -> Finding:
    run, site = members[-1]
    names = [facts.name(t) for t in run.reached]
    return Finding(
        "AG305",
        "gradient-protocol",
        "warning",
        f"zero_grad() cleared the gradients of {len(members)} backward() calls before any step() used them: of the "
        f"micro-batches of one step only the last counts for {folded(names)}",
        "With gradient accumulation call zero_grad() once for each step(), right after it.",
        unique(
            [
                *facts.chain(site, "cleared too often here"),
                *facts.chain(run.site, "gradients computed here"),
                *facts.chain(facts.capture.steps[-1].site, "step() uses the last ones only"),
            ]
        ),
        tuple(dict.fromkeys(names)),
    )


def _never_stepped(facts: Facts, members: list[tuple[Backward, int]]) -> Finding:
    run, site = members[-1]
    names = [facts.name(t) for t in run.reached]
    return Finding(
        "AG305",
        "gradient-protocol",
        "warning",
        f"zero_grad() clears the gradients that backward() computed, and no step() ever uses them: {folded(names)} "
        f"{'do' if len(names) > 1 else 'does'} not move",
        "Call optimizer.step() (with its parentheses) between backward() and the next zero_grad().",
        unique([*facts.chain(run.site, "gradients computed here"), *facts.chain(site, "cleared here, unused")]),
        tuple(dict.fromkeys(names)),
    )
