"""AG306: gradients that a hook or an assignment changed."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.event import GradWrite
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.rules.catalogue import rule
from autograd_inspector.rules.facts import Facts
from autograd_inspector.rules.gradients.gradient_memory import zeroed_in_place
from autograd_inspector.rules.gradients.hooks import (
    edited_in_hook,
    zeroed_by_hook,
    zeroed_by_module_hook,
    zeroed_on_the_way,
)
from autograd_inspector.rules.gradients.kept import overwritten
from autograd_inspector.rules.gradients.piled_hooks import piled_up
from autograd_inspector.rules.gradients.post_hooks import emptied_by_hook
from autograd_inspector.rules.wording.names import folded
from autograd_inspector.rules.wording.places import unique


@rule("AG306", "gradient-rewritten")
def gradient_rewritten(facts: Facts) -> Iterator[Finding]:
    """A tensor hook, or a write to `.grad` outside backward and step, zeroed, replaced or aliased a gradient.

    Why it matters
        The optimizer steps with something else than what backward computed. Two parameters that share one gradient
        tensor accumulate into each other. A `.grad` that is kept without a copy changes with the next backward, where
        that adds to it: `[p.grad for p in net.parameters()]` is no record of what it was.

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
    yield from _aliased(facts)
    yield from _replaced(facts)
    yield from overwritten(facts)
    yield from edited_in_hook(facts)
    yield from zeroed_by_hook(facts)
    yield from zeroed_by_module_hook(facts)
    yield from zeroed_on_the_way(facts)
    yield from emptied_by_hook(facts)
    yield from piled_up(facts)


def _aliased(facts: Facts) -> Iterator[Finding]:
    """One gradient tensor under two parameters."""
    owners: dict[int, int] = {}
    for read in facts.capture.grad_reads:
        if read.gradient >= 0:
            owners.setdefault(read.gradient, read.tensor)
    shared: dict[int, list[tuple[int, int]]] = {}
    for write in facts.capture.grad_writes:
        owner = owners.get(write.gradient, write.tensor) if write.gradient >= 0 else write.tensor
        if owner != write.tensor and _harmful(facts, write, owner):
            shared.setdefault(write.site, []).append((write.tensor, owner))
        elif write.gradient >= 0 and owner == write.tensor:
            owners[write.gradient] = write.tensor
    for site, pairs in shared.items():
        new, old = ([facts.name(pair[i]) for pair in pairs] for i in (0, 1))
        yield Finding(
            "AG306",
            "gradient-rewritten",
            "warning",
            f"the .grad of {folded(new)} is the very tensor that is the .grad of {folded(old)}: they accumulate into each "
            "other, and clearing or clipping one changes the other",
            "Assign a copy: `.grad.clone()`.",
            facts.chain(site, "aliased here"),
            tuple(dict.fromkeys([*new, *old])),
        )


def _harmful(facts: Facts, write: GradWrite, owner: int) -> bool:
    """Whether sharing matters: both are stepped from then on, or the target gets gradients of its own as well.

    Or the tensor is cleared before the target is stepped with it.
    Handing the gradients of a worker, or of a clone that has served, to a model that backward never reaches is no
    mistake: only one of the two makes gradients, and only the other is stepped with them.
    """
    capture = facts.capture
    steps = [{p.tensor for p in step.parameters} for step in capture.steps if step.at >= write.at]
    runs = [set(r.reached) for r in capture.backwards if r.start > write.at and r.api == "backward" and not r.error]
    stepped, reached = set[int]().union(*steps), set[int]().union(*runs)
    both = {write.tensor, owner} <= stepped or (write.tensor in reached and owner in stepped | reached)
    return both or _wiped(facts, write, owner)


def _wiped(facts: Facts, write: GradWrite, owner: int) -> bool:
    """Whether a step found zeros in it, for the owner's gradient was cleared in place after it was handed over."""
    for step in facts.capture.steps:
        if step.at < write.at or not any(
            p.gradient == write.gradient and p.tensor == write.tensor for p in step.parameters
        ):
            continue
        op = zeroed_in_place(facts, [write.gradient], write.at, step.at)
        refilled = (r for r in facts.capture.backwards if op is not None and op.index < r.start and r.end <= step.at)
        if op is not None and not any(owner in run.reached for run in refilled):
            return True
    return False


def _replaced(facts: Facts) -> Iterator[Finding]:
    """Between backward and step, ``.grad`` was assigned something that no gradient went into."""
    capture = facts.capture
    found: dict[int, list[tuple[int, Op, int]]] = {}
    writes = [write for write in capture.grad_writes if write.gradient >= 0]
    runs = [(run, set(run.reached)) for run in capture.backwards if writes and run.api == "backward"]
    steps = [(step, {p.tensor for p in step.parameters}) for step in capture.steps if writes]
    gradients = _gradients(facts) if writes else frozenset()
    for write in writes:
        before = [run for run, reached in runs if run.end <= write.at and write.tensor in reached]
        after = [step for step, stepped in steps if step.at >= write.at and write.tensor in stepped]
        if not before or not after or before[-1].error:
            continue
        if any(r.start >= write.at and r.end <= after[0].at for r in capture.backwards):
            continue
        made = facts.flow.birth(write.gradient)
        # Where it comes from is not known: nothing can be said against it.
        if made is not None and not _from_gradients(facts, gradients, write):
            found.setdefault(write.site, []).append((write.tensor, made, after[0].site))
    for site, members in found.items():
        names = [facts.name(tensor) for tensor, _, _ in members]
        yield Finding(
            "AG306",
            "gradient-rewritten",
            "warning",
            f"the .grad of {folded(names)} was replaced between backward() and step() by the result of "
            f"`{members[0][1].name}`, which no gradient went into",
            "Drop the assignment, or compute the new gradient from the one that backward left.",
            unique([*facts.chain(site, "replaced here"), *facts.chain(members[0][2], "step() uses it here")]),
            tuple(dict.fromkeys(names)),
        )


def _gradients(facts: Facts) -> frozenset[int]:
    """The tensors read off .grad, and those in memory that a hook adds to while backward runs."""
    capture = facts.capture
    kept = {write.storage for op in capture.ops if op.has(Trait.BACKWARD) for write in op.writes} - {-1}
    read = {r.gradient for r in capture.grad_reads if r.gradient >= 0}
    return frozenset(read.union(record.id for record in capture.tensors if record.storage in kept))


def _from_gradients(facts: Facts, gradients: frozenset[int], write: GradWrite) -> bool:
    """Whether a gradient went into the new one: read off .grad, returned by autograd.grad, or met by a hook."""
    above = [op for op, _ in facts.flow.upstream([(write.gradient, write.at)], lambda o, t: True)]
    met = {write.gradient, *(t for op in above for t in op.inputs)}
    births = (facts.flow.birth(t) for t in met)
    return not gradients.isdisjoint(met) or any(
        op is not None and (op.name == "grad" or op.has(Trait.BACKWARD)) for op in (*above, *births)
    )
