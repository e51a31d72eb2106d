"""AG404 where an optimizer was given nothing at all, although there are parameters to give."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.finding import Finding
from autograd_inspector.rules.facts import Facts
from autograd_inspector.rules.wording.names import folded

EMPTY = "optimizer got an empty parameter list"


def waiting(facts: Facts) -> tuple[int, ...]:
    """The parameters of the models that were there."""
    return tuple(sorted(facts.capture.owners))


def given_nothing(facts: Facts) -> Iterator[Finding]:
    """A generator that was used up before, or a filter that let nothing through."""
    parameters = waiting(facts) if EMPTY in facts.capture.error else ()
    refused = [change for change in facts.capture.changes if change.kind == "optimizer_refused"]
    if not parameters or not refused:
        return
    tensors = facts.capture.tensors
    trainable = [t for t in parameters if tensors[t].requires_grad]
    names = [facts.name(t) for t in trainable or parameters]
    frozen = [
        change for change in facts.capture.leaf_changes if change.tensor in parameters and not change.requires_grad
    ]
    if trainable:
        why = f"although {folded(names)} require grad: an iterator that was used up before, or a filter that matches nothing"
        fix = "parameters() is a generator and can be walked once: call it again for the optimizer, or keep list(net.parameters())."
    else:
        why = f"and {folded(names)} are all frozen: a filter by requires_grad leaves nothing"
        fix = "Unfreeze what is meant to learn (requires_grad_(True)) before the optimizer is built."
    yield Finding(
        "AG404",
        "not-in-optimizer",
        "error",
        f"{refused[-1].api} was given no parameters, {why}",
        fix,
        (
            *facts.chain(refused[-1].site, "given nothing here"),
            *(place for change in frozen[-1:] if not trainable for place in facts.chain(change.site, "frozen here")),
        ),
        tuple(dict.fromkeys(names)),
    )
