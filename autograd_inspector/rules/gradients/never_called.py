"""AG305 where a step finds no gradients because backward() was never called on the loss that was made for it."""

from __future__ import annotations

from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.op import Op
from autograd_inspector.rules.facts import Facts
from autograd_inspector.rules.gradients.gradient_memory import zeroed_in_place
from autograd_inspector.rules.gradients.waiting import losses, waiting
from autograd_inspector.rules.wording.names import folded
from autograd_inspector.rules.wording.places import unique


def never_called(facts: Facts, step: Step, since: int, last: Backward | None, trainable: set[int]) -> Finding | None:
    """The finding about a step that a backward is missing before; ``last``: the last one ``since`` the step before."""
    loss = next((facts.forgotten[t] for t in trainable if t in facts.forgotten), None)
    if loss is None or not _finds_nothing(facts, step, last):
        reached = facts.reached.intersection(trainable) if facts.capture.backwards else ()
        if any(p.gradient >= 0 for p in step.parameters) or reached or not _waited(facts, trainable):
            return None
        start = step.start if step.computed else since + 1
        loss = max(losses(facts.capture, trainable, start, step.at), key=lambda op: op.index, default=None)
    return _finding(facts, step, loss)


def _finds_nothing(facts: Facts, step: Step, last: Backward | None) -> bool:
    """Whether the step meets no gradient, or zeros alone that another loss's gradients were cleared to."""
    end = 0 if last is None else last.end
    return all(p.gradient < 0 or zeroed_in_place(facts, [p.gradient], end, step.at) for p in step.parameters)


def _waited(facts: Facts, tensors: set[int]) -> bool:
    """Whether no backward ran at all, or a loss of these waited for one in vain and no cut explains that."""
    if not facts.capture.backwards:
        return True
    explained = {tensor for cut in facts.severed for tensor in cut.parameters}
    return not tensors & (explained | facts.emptied) and any(True for _ in waiting(facts.capture, tensors))


def _finding(facts: Facts, step: Step, loss: Op | None) -> Finding:
    names = [facts.name(p.tensor) for p in step.parameters]
    many = len(set(names)) > 1
    why, fix = "step() ran without a backward()", f"Call {_called(facts, loss)}.backward() before optimizer.step()."
    if step.computed:
        why = "the closure that step() runs never calls backward()"
        fix = f"Call {_called(facts, loss)}.backward() inside the closure, before it returns the loss."
    elif facts.capture.backwards:
        why = f"backward() was never called on what {folded(names)} {'were' if many else 'was'} used for"
        if loss is not None and not facts.reached.isdisjoint(p.tensor for p in step.parameters):
            why = f"the gradients of another loss are cleared, and backward() is not called on this step's own {_called(facts, loss)}"
    return Finding(
        "AG305",
        "gradient-protocol",
        "warning",
        f"{why}: {folded(names)} {'have' if many else 'has'} no gradient and {'do' if many else 'does'} not move",
        fix,
        unique(
            [
                *facts.chain(step.site, "step() without gradients"),
                *(facts.chain(loss.site, "no backward() from this loss") if loss is not None else ()),
            ]
        ),
        tuple(dict.fromkeys(names)),
        ops=(step.op,),
    )


def _called(facts: Facts, loss: Op | None) -> str:
    """The program's variable for the loss."""
    variables = (facts.capture.tensors[tensor].variable for tensor in (() if loss is None else loss.outputs))
    return next((name for name in variables if name.isidentifier()), "loss")
