"""Optimizers that hold nothing that requires grad: they step, and nothing moves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from autograd_inspector.model.finding import Finding
from autograd_inspector.model.location import Location
from autograd_inspector.model.placement import OptimizerRecord
from autograd_inspector.rules.facts import Facts
from autograd_inspector.rules.wording.names import folded
from autograd_inspector.rules.wording.places import unique


def is_idle(facts: Facts, optimizer: OptimizerRecord) -> bool:
    """Whether none of its parameters required grad, or had a gradient, at any step of the capture."""
    steps = [step for step in facts.capture.steps if step.optimizer == optimizer.id]
    return any(step.parameters for step in steps) and not any(
        p.gradient >= 0 or facts.requires_grad_at(p.tensor, step.at) for step in steps for p in step.parameters
    )


def idle_optimizers(facts: Facts) -> Iterator[Finding]:
    """Where backward did run, and no optimizer had anything to step.

    One that waits for its parameters to be unfrozen, beside another that works, is meant. Where a model's trainable
    parameters are in no optimizer, AG404 has more to say than that those of another part are frozen.
    """
    capture = facts.capture
    stepped = [o for o in capture.placement.optimizers if facts.timeline.steps_of(o.id).all]
    ran = any(run.reached and not run.error for run in capture.backwards)
    if not ran or not stepped or not all(is_idle(facts, optimizer) for optimizer in stepped):
        return
    for optimizer in stepped:
        held = tuple(dict.fromkeys(optimizer.held))
        if not bare(facts, held) and facts.loose is not None:
            continue
        names = [facts.name(t) for t in held]
        yield Finding(
            "AG106",
            "no-trainable-input",
            "warning",
            f"{folded(names)} {'do' if len(names) > 1 else 'does'} not require grad: backward gives "
            f"{'them' if len(names) > 1 else 'it'} no gradient, and {optimizer.type} has nothing to step",
            asked(facts, held),
            unique(
                [
                    *why_frozen(facts, held),
                    *facts.chain(optimizer.site, "given to the optimizer here"),
                    *(p for step in capture.steps[-1:] for p in facts.chain(step.site, "step() moves nothing")),
                ]
            ),
            tuple(names),
        )


def bare(facts: Facts, tensors: Iterable[int]) -> bool:
    """Whether none of them belongs to a module: an image, a prompt, a perturbation."""
    return not any(facts.capture.tensors[t].names for t in tensors)


def asked(facts: Facts, held: tuple[int, ...]) -> str:
    """How to make them require grad."""
    if not bare(facts, held):
        return "Unfreeze what is meant to learn: module.requires_grad_(True)."
    name = facts.name(held[0])
    call = f"`{name}.requires_grad_()`" if facts.capture.tensors[held[0]].variable else "requires_grad_() on it"
    return f"Call {call} before the optimizer is built and the forward runs."


def why_frozen(facts: Facts, held: tuple[int, ...]) -> list[Location]:
    """Where they were frozen, or made without requires_grad."""
    changes = [c for c in facts.capture.leaf_changes if c.tensor in held and not c.requires_grad]
    frozen = [place for change in changes[-1:] for place in facts.chain(change.site, "frozen here")]
    made = [op for op in map(facts.flow.birth, held[:3]) if op is not None]
    return frozen or [place for op in made for place in facts.chain(op.site, "made here, without requires_grad")]
