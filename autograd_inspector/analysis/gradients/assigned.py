"""Gradients that the program assigns: shared by two parameters, or made of no gradient."""

from __future__ import annotations

from collections.abc import Mapping

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.clearing import clearings
from autograd_inspector.analysis.gradients.memory import zeroed_in_place
from autograd_inspector.analysis.sure_zeros import surely_zero
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import GradWrite, Step
from autograd_inspector.model.op import Op, Trait


def shared_gradients(analysis: Analysis) -> Mapping[int, list[tuple[int, int]]]:
    """Site of an assignment -> (parameter, the one whose gradient it was given) of those that are both used."""
    owners: dict[int, int] = {}
    for read in analysis.capture.grad_reads:
        if read.gradient >= 0:
            owners.setdefault(read.gradient, read.tensor)
    shared: dict[int, list[tuple[int, int]]] = {}
    for write in analysis.capture.grad_writes:
        owner = owners.get(write.gradient, write.tensor) if write.gradient >= 0 else write.tensor
        if owner != write.tensor and _harmful(analysis, write, owner):
            shared.setdefault(write.site, []).append((write.tensor, owner))
        elif write.gradient >= 0 and owner == write.tensor:
            owners[write.gradient] = write.tensor
    return shared


def _harmful(analysis: Analysis, write: GradWrite, owner: int) -> bool:
    """Whether sharing matters: both are stepped from then on, or the target gets gradients of its own as well.

    Or the tensor is cleared before the target is stepped with it.
    Handing the gradients of a worker, or of a clone that has served, to a model that backward never reaches is no
    mistake: only one of the two makes gradients, and only the other is stepped with them.
    """
    capture = analysis.capture
    steps = [{p.tensor for p in step.parameters} for step in capture.steps if step.at >= write.at]
    runs = [set(r.reached) for r in capture.backwards if r.start > write.at and r.completed]
    stepped, reached = set[int]().union(*steps), set[int]().union(*runs)
    both = {write.tensor, owner} <= stepped or (write.tensor in reached and owner in stepped | reached)
    return both or _wiped(analysis, write, owner)


def _wiped(analysis: Analysis, write: GradWrite, owner: int) -> bool:
    """Whether a step found zeros in it, for the owner's gradient was cleared in place after it was handed over."""
    for step in analysis.capture.steps:
        if step.at < write.at or not any(
            p.gradient == write.gradient and p.tensor == write.tensor for p in step.parameters
        ):
            continue
        op = zeroed_in_place(analysis, [write.gradient], write.at, step.at)
        refilled = (r for r in analysis.capture.backwards if op is not None and op.index < r.start and r.end <= step.at)
        if op is not None and not any(owner in run.reached for run in refilled):
            return True
    return False


def replaced_gradients(analysis: Analysis) -> Mapping[int, list[tuple[int, Op, int]]]:
    """Site of an assignment between backward and step that no gradient went into -> (parameter, what made it, the step's site)."""
    capture = analysis.capture
    replacements: dict[int, list[tuple[int, Op, int]]] = {}
    writes = [write for write in capture.grad_writes if write.gradient >= 0]
    runs = [(run, set(run.reached)) for run in capture.backwards if writes and run.api == "backward"]
    steps = [(step, {p.tensor for p in step.parameters}) for step in capture.steps if writes]
    gradients = _gradients(analysis) if writes else frozenset()
    for write in writes:
        before = [run for run, reached in runs if run.end <= write.at and write.tensor in reached]
        after = [step for step, stepped in steps if step.at >= write.at and write.tensor in stepped]
        if not before or not after or before[-1].error:
            continue
        if any(r.start >= write.at and r.end <= after[0].at for r in capture.backwards):
            continue
        if _used_by_another(analysis, write, before[-1], after[0]):
            continue
        if _cleared(analysis, write, before[-1]) or _held_back(analysis, write):
            continue
        made = analysis.flow.birth(write.gradient)
        # Where it comes from is not known: nothing can be said against it.
        if made is not None and not _from_gradients(analysis, gradients, write):
            replacements.setdefault(write.site, []).append((write.tensor, made, after[0].site))
    return replacements


def _cleared(analysis: Analysis, write: GradWrite, run: Backward) -> bool:
    """Whether a step used what the backward left, and it was cleared, before the assignment: then nothing is replaced."""
    timeline = analysis.timeline
    used = [
        step.at
        for number in timeline.holders((write.tensor,))
        for step in timeline.steps_of(number).within(run.end, write.at)
    ]
    return any(
        clearings(analysis, (write.tensor,), at, write.at)
        or any(other.gradient < 0 for other in timeline.writes_of(write.tensor).within(at, write.at))
        for at in used
    )


def _used_by_another(analysis: Analysis, write: GradWrite, run: Backward, next_step: Step) -> bool:
    """Whether another optimizer stepped with what the backward left: an outer one then gets a gradient of its own."""
    timeline = analysis.timeline
    others = (number for number in timeline.holders((write.tensor,)) if number != next_step.optimizer)
    return any(timeline.steps_of(number).within(run.end, write.at) for number in others)


def _held_back(analysis: Analysis, write: GradWrite) -> bool:
    """Whether zeros keep a parameter where it is in this step, and other steps use the gradients of a backward."""
    capture, timeline = analysis.capture, analysis.timeline
    if not surely_zero(capture, analysis.flow, write.gradient, write.at):
        return False
    assigned = {other.gradient for other in timeline.writes_of(write.tensor).all}
    return any(
        p.tensor == write.tensor and p.gradient >= 0 and p.gradient not in assigned
        for number in timeline.holders((write.tensor,))
        for step in timeline.steps_of(number).all
        for p in step.parameters
    )


def _gradients(analysis: Analysis) -> frozenset[int]:
    """The tensors read off .grad, and those in memory that a hook adds to while backward runs."""
    capture = analysis.capture
    kept = {write.storage for op in capture.ops if op.has(Trait.BACKWARD) for write in op.writes} - {-1}
    read = {r.gradient for r in capture.grad_reads if r.gradient >= 0}
    return frozenset(read.union(record.id for record in capture.tensors if record.storage in kept))


def _from_gradients(analysis: Analysis, gradients: frozenset[int], write: GradWrite) -> bool:
    """Whether a gradient went into the new one: read off .grad, returned by autograd.grad, or met by a hook."""
    above = [op for op, _ in analysis.flow.upstream([(write.gradient, write.at)], lambda o, t: True)]
    met = {write.gradient, *(t for op in above for t in op.inputs)}
    births = (analysis.flow.birth(t) for t in met)
    return not gradients.isdisjoint(met) or any(
        op is not None and (op.name == "grad" or op.has(Trait.BACKWARD)) for op in (*above, *births)
    )
