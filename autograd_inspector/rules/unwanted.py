"""AG109: gradient that flows where the program learns by other means."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.finding import Finding
from autograd_inspector.rules.catalogue import Facts, folded, rule, unique


@rule("AG109", "unwanted-gradient")
def unwanted_gradient(facts: Facts) -> Iterator[Finding]:
    """Gradient flows into a copy that the program updates by other means: a target network or teacher not detached.

    Why it matters
        A target network follows the online one by copying. Without `no_grad` or `detach` the loss also differentiates
        through it: the online network's gradient is that of another loss, and memory and time are spent for nothing.

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
    copies = facts.unwanted
    if not copies:
        return
    names = [facts.name(t) for t in copies]
    use = next((op for op in facts.capture.ops if set(copies) & set(op.inputs) and op.call >= 0), None)
    runs = [r for r in facts.capture.backwards if r.api == "backward" and not r.error]
    plain = [c for c in facts.capture.changes if c.kind == "plain_attribute" and set(c.tensors) & set(copies)]
    why = f" (`.{plain[0].api} = False` on a module or a misspelt attribute freezes nothing)" if plain else ""
    root = use
    call = facts.capture.calls[root.call] if root is not None else None
    while call is not None and call.parent >= 0:
        call = facts.capture.calls[call.parent]
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
                *(facts.chain(call.site, "called with grad mode on here") if call is not None else ()),
                *(facts.chain(use.site, "used here") if use is not None else ()),
                *(place for run in runs[-1:] for place in facts.chain(run.site, "backward called here")),
            ]
        ),
        tuple(dict.fromkeys(names)),
    )
