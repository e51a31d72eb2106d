"""AG306: gradients that a hook or an assignment changed."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.left_out import left_out
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.clearing import clearings
from autograd_inspector.analysis.gradients.memory import zeroed_in_place
from autograd_inspector.analysis.ops_of import having
from autograd_inspector.analysis.sure_zeros import surely_zero
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import GradWrite, Step
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.remedy import Substitute
from autograd_inspector.model.wording import summarize_names
from autograd_inspector.rules.ag306_gradient_rewritten.another_order import in_another_order
from autograd_inspector.rules.ag306_gradient_rewritten.compiled_before import compiled_before
from autograd_inspector.rules.ag306_gradient_rewritten.dropped import dropped_each_time
from autograd_inspector.rules.ag306_gradient_rewritten.duplicate_hooks import piled_up
from autograd_inspector.rules.ag306_gradient_rewritten.grad_reference_kept import overwritten
from autograd_inspector.rules.ag306_gradient_rewritten.hooks import (
    edited_in_hook,
    zeroed_by_hook,
    zeroed_by_module_hook,
    zeroed_on_the_way,
)
from autograd_inspector.rules.ag306_gradient_rewritten.idle_hooks import after_backward, on_what_nobody_reads
from autograd_inspector.rules.ag306_gradient_rewritten.kept_in_state import kept_in_state
from autograd_inspector.rules.ag306_gradient_rewritten.late_variables import with_the_last_value
from autograd_inspector.rules.ag306_gradient_rewritten.left_behind import (
    on_the_old_parameter,
    on_the_original,
    on_what_a_load_replaced,
)
from autograd_inspector.rules.ag306_gradient_rewritten.post_hooks import emptied_by_hook
from autograd_inspector.rules.ag306_gradient_rewritten.refused import refused
from autograd_inspector.rules.ag306_gradient_rewritten.reversed_for_all import reversed_on_all_paths
from autograd_inspector.rules.ag306_gradient_rewritten.sign_lost import without_sign


def check(analysis: Analysis) -> Iterator[Problem]:
    """A tensor hook, or a write to `.grad` outside backward and step, zeroed, replaced, exchanged or aliased a gradient.

    Why it matters
        The optimizer uses a different gradient than backward computed. Two parameters that share one gradient tensor
        accumulate into each other. A `.grad` that is kept without a copy changes when the next backward adds to it:
        `[p.grad for p in net.parameters()]` does not record the old values. Hooks created in a loop look up the loop
        variable when they run, so all of them find its last value. Gradients that are joined to one flat tensor and written
        back in another order go to the wrong parameters.

    Example
        ::

            first(x).pow(2).mean().backward()
            second.weight.grad = first.weight.grad
            optimizer.step()

    Fix
        ::

            first(x).pow(2).mean().backward()
            second.weight.grad = first.weight.grad.clone()
            optimizer.step()

    References
        torch.Tensor.register_hook ("the hook should not modify its argument"); torch.Tensor.grad.
    """
    yield from refused(analysis)
    yield from _aliased(analysis)
    yield from _replaced(analysis)
    yield from in_another_order(analysis)
    yield from overwritten(analysis)
    yield from kept_in_state(analysis)
    yield from without_sign(analysis)
    yield from zeroed_by_hook(analysis)
    yield from zeroed_by_module_hook(analysis)
    yield from zeroed_on_the_way(analysis)
    yield from edited_in_hook(analysis)  # Whatever way a hook makes a gradient zero, the hook is to blame.
    yield from emptied_by_hook(analysis)
    yield from piled_up(analysis)
    yield from dropped_each_time(analysis)
    yield from with_the_last_value(analysis)
    yield from on_the_old_parameter(analysis)
    yield from on_what_a_load_replaced(analysis)
    yield from reversed_on_all_paths(analysis)
    yield from compiled_before(analysis)
    yield from on_the_original(analysis)
    yield from after_backward(analysis)
    yield from on_what_nobody_reads(analysis)


def _aliased(analysis: Analysis) -> Iterator[Problem]:
    """One gradient tensor under two parameters."""
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
    for site, pairs in shared.items():
        new, old = ([name_of(analysis, pair[i]) for pair in pairs] for i in (0, 1))
        yield Problem(
            "warning",
            f"the .grad of {summarize_names(new)} is the same tensor as the .grad of {summarize_names(old)}: they accumulate into each "
            "other, and clearing or clipping one changes the other",
            "Assign a copy: `.grad.clone()`.",
            analysis.user_frames(site, "aliased here"),
            (*new, *old),
            cures=tuple((Substitute(place, "", "{}.clone()"),) for place in analysis.user_frames(site, "")[:1]),
        )


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


def _replaced(analysis: Analysis) -> Iterator[Problem]:
    """Between backward and step, ``.grad`` was assigned something that no gradient went into."""
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
    for site, members in replacements.items():
        names = [name_of(analysis, tensor) for tensor, _, _ in members]
        yield Problem(
            "warning",
            f"the .grad of {summarize_names(names)} was replaced between backward() and step() by the result of "
            f"`{members[0][1].name}`, which does not depend on a gradient",
            "Drop the assignment, or compute the new gradient from the one that backward left.",
            analysis.places((site, "replaced here"), (members[0][2], "step() uses it here")),
            tuple(names),
            cures=tuple(left_out(analysis, site)),
        )


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
    kept = {write.storage for op in having(capture, Trait.BACKWARD) for write in op.writes} - {-1}
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
