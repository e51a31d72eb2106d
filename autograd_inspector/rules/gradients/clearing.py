"""Who cleared which gradients, and when: zero_grad, `.grad = None`, zero_() in place."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Change, Step
from autograd_inspector.rules.facts import Facts
from autograd_inspector.rules.gradients.gradient_memory import gradients_of, writes_into, zeroed_in_place


def clears(facts: Facts, change: Change, tensors: Iterable[int]) -> bool:
    """Whether it is a zero_grad() of an optimizer that holds some of the parameters."""
    if change.kind != "zero_grad" or change.optimizer < 0:
        return False
    held = set(facts.capture.placement.optimizers[change.optimizer].held)
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
