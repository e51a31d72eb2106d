"""Batches whose gradients the program looks at and then does not step with, and that it does not clear either.

Each other backward() has a step of its own. What the refused one computed is still in ``.grad`` when the next one adds
to it: a NaN stays for good, and a large norm is in all norms from then on. Who accumulates has several backwards in
each step, or more and more of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, pairwise

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import Op, Trait

_FEWEST = 3
"""A usual iteration, one that is refused, the next."""


class RefusedBatch(Struct, frozen=True):
    """No step followed ``run`` after ``asked`` took an answer from its gradients; ``following`` added to them.

    ``step`` is the first to use both; None: none came. ``usual`` is a step that used one backward().
    """

    run: Backward
    asked: Op
    following: Backward
    step: Step | None
    usual: Step


def refused_batches(analysis: Analysis) -> Iterator[RefusedBatch]:
    """The first one of each line of a backward()."""
    capture = analysis.capture
    if capture.history.folded or len(capture.backwards) < _FEWEST:
        return
    by_site: dict[int, list[Backward]] = {}
    for run in capture.backwards:
        if run.completed and run.nested_in < 0:
            by_site.setdefault(run.site, []).append(run)
    for runs in by_site.values():
        found = _found(analysis, runs)
        if found is not None:
            yield found


def _found(analysis: Analysis, runs: list[Backward]) -> RefusedBatch | None:
    """The first refused one, where rounds of one backward come before it, and after it, if any step does."""
    steps = {run.index: _step_after(analysis, run) for run in runs}
    groups = [tuple(group) for _, group in groupby(runs, key=lambda run: _at(steps[run.index]))]
    usual = steps[groups[0][0].index]
    if len(groups[0]) > 1 or usual is None:
        return None
    at = next((place for place, group in enumerate(groups) if len(group) > 1), len(groups))
    behind = [group for group in groups[at + 1 :] if steps[group[0].index] is not None]
    if at == len(groups) or any(len(group) > 1 for group in behind) or not (behind or at == len(groups) - 1):
        return None
    for run, following in pairwise(groups[at]):
        asked = _asked(analysis, run, following)
        if asked is None or not {*run.reached} & {*following.stale}:
            return None
    run, following = groups[at][:2]
    asked = _asked(analysis, run, following)
    return None if asked is None else RefusedBatch(run, asked, following, steps[run.index], usual)


def _at(step: Step | None) -> int:
    return -1 if step is None else step.op


def _step_after(analysis: Analysis, run: Backward) -> Step | None:
    """The first step behind a run that holds something which the run reached."""
    following = analysis.timeline.steps.since(run.end)
    return next((step for step in following if not step.held.isdisjoint(run.reached)), None)


def _asked(analysis: Analysis, run: Backward, following: Backward) -> Op | None:
    """The last op between two runs that gave Python an answer which was computed from gradients of the first."""
    capture, reads = analysis.capture, analysis.timeline.reads.within(run.end, following.start)
    gradients = {read.gradient for read in reads if read.tensor in run.reached and read.gradient >= 0}
    known = {tensor for tensor in gradients if capture.tensors[tensor].storage >= 0}
    answers = (op for op in reversed(capture.ops[run.end : following.start]) if _answers(op))
    return next((op for op in answers if known and _comes_from(analysis, op, known, run.end)), None)


def _answers(op: Op) -> bool:
    return is_a(op.name, OpKind.ASKS) or op.has(Trait.EXPORT)


def _comes_from(analysis: Analysis, op: Op, gradients: set[int], since: int) -> bool:
    """Whether a gradient is among what it was computed from, by ops since then."""
    starts = [(tensor, op.index) for tensor in op.inputs]
    ways = analysis.flow.upstream(starts, lambda made, _: made.index >= since)
    return not gradients.isdisjoint(op.inputs) or any(not gradients.isdisjoint(made.inputs) for made, _ in ways)
