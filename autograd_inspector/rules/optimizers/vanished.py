"""Parameters that an optimizer stepped and that no model has any more: adapters merged away, layers taken out."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from autograd_inspector.model.event import Exchange
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Trait
from autograd_inspector.model.placement import OptimizerRecord
from autograd_inspector.rules.facts import Facts
from autograd_inspector.rules.optimizers.loose import copied_from
from autograd_inspector.rules.optimizers.pasted import remade
from autograd_inspector.rules.wording.names import folded
from autograd_inspector.rules.wording.places import unique


def vanished(facts: Facts, told: Collection[int]) -> Iterator[Finding]:
    """One finding an optimizer, about what it goes on stepping in vain; ``told`` are known to have been replaced.

    A layer that is taken out on purpose is worth seeing. Where its values went into what is left, or where nothing
    that the optimizer holds learns any more, training has stopped without a word.
    """
    for optimizer in facts.capture.placement.optimizers:
        held = [t for t in optimizer.held if facts.capture.tensors[t].requires_grad]
        gone = [t for t in held if t not in told and _gone(facts, optimizer, t)]
        if gone:
            loud = len(gone) == len(held) or _merged(facts, gone)
            yield _finding(facts, optimizer, gone, [t for t in held if t not in gone], loud=loud)


def exchange_of(facts: Facts, tensor: int) -> Exchange | None:
    """What took the parameter out of its model for good."""
    if tensor in facts.capture.owners:
        return None
    lost = (e for e in facts.capture.exchanges if tensor in {*(t for _, t in e.gone), *(t for _, t, _ in e.replaced)})
    return max(lost, key=lambda exchange: exchange.at, default=None)


def taken_out(facts: Facts, tensors: Collection[int]) -> tuple[Location, ...]:
    """The lines that took parameters out of their models."""
    lost = [exchange_of(facts, tensor) for tensor in tensors]
    sites = dict.fromkeys(e.site for e in lost if e is not None and e.site >= 0)
    return unique(place for site in sites for place in facts.chain(site, "taken out of the model here"))


def _gone(facts: Facts, optimizer: OptimizerRecord, tensor: int) -> bool:
    """Whether the optimizer stepped after a model had lost the parameter, to which no backward came any more."""
    lost = exchange_of(facts, tensor)
    if lost is None or not any(s.optimizer == optimizer.id and s.at >= lost.at for s in facts.capture.steps):
        return False
    given = (write for write in facts.capture.grad_writes if write.tensor == tensor and write.gradient >= 0)
    reached = any(run.start >= lost.at and tensor in run.reached for run in facts.capture.backwards)
    return not reached and not any(write.at >= lost.at for write in given)


def _merged(facts: Facts, gone: Collection[int]) -> bool:
    """Whether the program put their values into a parameter that a model still has."""
    capture = facts.capture
    left = {capture.tensors[t].storage for t in capture.owners} - {-1}
    return any(
        any(write.storage in left for write in op.writes) and copied_from(capture, op, gone, facts.flow)
        for op in capture.ops
        if op.writes and not op.has(Trait.STEP | Trait.BACKWARD)
    )


def _finding(facts: Facts, optimizer: OptimizerRecord, gone: list[int], rest: list[int], *, loud: bool) -> Finding:
    names = [facts.name(t) for t in gone]
    many, some = len(names) > 1, [t for t in rest if t in facts.capture.owners]
    statement = remade(facts, optimizer, some or _left(facts, gone))
    return Finding(
        "AG405",
        "orphan-in-optimizer",
        "warning" if loud else "info",
        f"{optimizer.type} holds {folded(names)}, which no model has any more: {'they' if many else 'it'} got no gradient "
        f"since, and step() trains nothing with {'them' if many else 'it'}",
        f"Build the optimizer anew once the model has changed{f': `{statement}`' if statement else ''}, or change it "
        "after training.",
        unique([*taken_out(facts, gone), *facts.chain(optimizer.site, "optimizer made here")]),
        tuple(dict.fromkeys(names)),
    )


def _left(facts: Facts, gone: list[int]) -> list[int]:
    """What the models that lost them have now."""
    models = {lost.model for t in gone if (lost := exchange_of(facts, t)) is not None}
    return [t for t, owner in facts.capture.owners.items() if owner in models]
