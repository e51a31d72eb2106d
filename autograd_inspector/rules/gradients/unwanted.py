"""AG109: gradient that flows where the program learns by other means."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial

from autograd_inspector.model.finding import Finding
from autograd_inspector.model.location import Location
from autograd_inspector.rules.catalogue import rule
from autograd_inspector.rules.facts import Facts
from autograd_inspector.rules.gradients.mixed import Mixed, entrance, mixed
from autograd_inspector.rules.gradients.overwritten import overwritten
from autograd_inspector.rules.wording.names import folded
from autograd_inspector.rules.wording.places import unique


@rule("AG109", "unwanted-gradient")
def unwanted_gradient(facts: Facts) -> Iterator[Finding]:
    """Gradient flows into a copy that the program updates by other means: a target network or teacher not detached.

    Why it matters
        A target network follows the online one by copying. Without `no_grad` or `detach` backward runs through it as
        well: memory and time are spent on gradients that no optimizer uses and no zero_grad() clears, and whoever
        later hands them to an optimizer or sums them into a norm uses those of another loss.

    Example
        ::

            target = copy.deepcopy(net)
            loss = (net(x) - target(x).amax(1, keepdim=True)).pow(2).mean()
            loss.backward()
            optimizer.step()

    Fix
        ::

            target = copy.deepcopy(net).requires_grad_(False)
            loss = (net(x) - target(x).amax(1, keepdim=True)).pow(2).mean()
            loss.backward()
            optimizer.step()

    References
        torch.no_grad; Mnih et al., "Human-level control through deep reinforcement learning", 2015 (target networks).
    """
    yield from _stepped(facts)
    yield from map(partial(_summed, facts), mixed(facts))
    copies = facts.unwanted
    if not copies or facts.copies_used:
        return
    names = [facts.name(t) for t in copies]
    plain = [c for c in facts.capture.changes if c.kind == "plain_attribute" and set(c.tensors) & set(copies)]
    why = f" (`.{plain[0].api} = False` on a module or a misspelt attribute freezes nothing)" if plain else ""
    yield Finding(
        "AG109",
        "unwanted-gradient",
        "warning",
        f"backward reaches {folded(names)}, a copy that no optimizer holds: a target network or teacher that was not "
        f"detached{why}",
        "Call it under torch.no_grad(), detach() its output, or freeze the copy: requires_grad_(False).",
        unique(
            [
                *(place for change in plain[:1] for place in facts.chain(change.site, "freezes nothing here")),
                *_places(facts, copies),
            ]
        ),
        tuple(dict.fromkeys(names)),
    )


def _stepped(facts: Facts) -> Iterator[Finding]:
    """A copy within the optimizer: what a step changes in it the next refresh throws away."""
    found = overwritten(facts.capture, facts.flow)
    if not found:
        return
    copies, last = list(dict.fromkeys(each.tensor for each in found)), max(each.ops[-1].index for each in found)
    names, many = [facts.name(t) for t in copies], len(copies) > 1
    sources = folded(facts.name(each.source) for each in found)
    yield Finding(
        "AG109",
        "unwanted-gradient",
        "warning",
        f"backward reaches {folded(names)}, and an optimizer steps {'them' if many else 'it'}, although the program "
        f"overwrites {'them' if many else 'it'} with the values of {sources} again and again: a target network or teacher "
        "that was not detached",
        "Call it under torch.no_grad() or detach() its output, freeze it with requires_grad_(False), and give the "
        f"optimizer only what is to learn by gradient ({sources}).",
        unique([*_places(facts, copies), *facts.chain(facts.capture.ops[last].site, "overwritten here")]),
        tuple(dict.fromkeys(names)),
    )


def _summed(facts: Facts, found: Mixed) -> Finding:
    """A generator that steps with the gradients of the discriminator's loss and of its own."""
    names, others = [facts.name(t) for t in found.tensors], folded(facts.name(t) for t in sorted(found.others))
    many = len(names) > 1
    return Finding(
        "AG109",
        "unwanted-gradient",
        "warning",
        f"{folded(names)} {'step' if many else 'steps'} with gradients of two losses: the loss that {others} stepped "
        f"with reaches {'them' if many else 'it'} as well, and nothing clears what it leaves before the backward() of "
        f"{'their' if many else 'its'} own loss",
        f"detach() what is computed with {folded(names)} where it goes into the loss of {others}, or clear the gradients "
        "(zero_grad()) right before the second backward().",
        unique(
            [
                *entrance(facts, found),
                *facts.chain(found.foreign.site, "leaves gradients here"),
                *facts.chain(found.own.site, "adds to them here"),
                *facts.chain(found.step.site, "step() uses the sum here"),
            ]
        ),
        tuple(dict.fromkeys(names)),
    )


def _places(facts: Facts, copies: Collection[int]) -> Iterator[Location]:
    """Where the copies are called and used, and the backward that comes back through them."""
    use = next((op for op in facts.capture.ops if set(copies) & set(op.inputs) and op.call >= 0), None)
    if use is not None:
        call = facts.capture.calls[use.call]
        while call.parent >= 0:
            call = facts.capture.calls[call.parent]
        yield from facts.chain(call.site, "called with grad mode on here")
        yield from facts.chain(use.site, "used here")
    runs = [r for r in facts.capture.backwards if r.api == "backward" and not r.error]
    yield from facts.chain(runs[-1].site, "backward called here") if runs else ()
