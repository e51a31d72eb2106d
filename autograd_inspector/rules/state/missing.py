"""AG409: optimizer state that is missing, or that a load refused."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.event import Change
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.placement import OptimizerRecord
from autograd_inspector.rules.catalogue import rule
from autograd_inspector.rules.checkpoints.before_load import before_loading
from autograd_inspector.rules.facts import Facts
from autograd_inspector.rules.state.fit import is_refusal, loads_of
from autograd_inspector.rules.state.key import state_key
from autograd_inspector.rules.state.lines import assigned_by_program
from autograd_inspector.rules.state.regrouped import other_groups, regrouped
from autograd_inspector.rules.wording.names import folded
from autograd_inspector.rules.wording.places import unique


@rule("AG409", "state-missing")
def state_missing(facts: Facts) -> Iterator[Finding]:
    """Some parameters have state, others that step have none; or a load was refused because the groups differ.

    Why it matters
        After a resume, parameters without state start again with zero moments while the rest continue. When a group
        has more parameters than the checkpoint's, nothing is loaded at all. An optimizer that makes its state when it is
        built has none for what is unfrozen later.

    Example
        ::

            checkpoint = torch.optim.Adam(net[1:].parameters()).state_dict()
            torch.optim.Adam(net.parameters()).load_state_dict(checkpoint)

    Fix
        ::

            checkpoint = torch.optim.Adam(net[1:].parameters()).state_dict()
            optimizer = torch.optim.Adam(net[1:].parameters())
            optimizer.load_state_dict(checkpoint)
            optimizer.add_param_group({"params": net[0].parameters()})

    References
        torch.optim.Optimizer.load_state_dict, torch.optim.Optimizer.add_param_group.
    """
    yield from before_loading(facts, "AG409")
    yield from state_key(facts)
    for change in facts.capture.changes:
        if change.kind == "optimizer_load_failed" and any(is_refusal(text) for text in change.detail):
            yield from _refused(facts, change)
        elif change.kind == "state_absent":
            stepped = {
                p.tensor
                for s in facts.capture.steps
                if s.optimizer == change.optimizer
                for p in s.parameters
                if p.gradient >= 0
            }
            bare = [t for t in change.tensors if t in stepped]
            if bare:
                yield _missing(
                    facts, facts.capture.placement.optimizers[change.optimizer], [facts.name(t) for t in bare]
                )


def _refused(facts: Facts, change: Change) -> Iterator[Finding]:
    """The saved groups have other sizes: name what was unfrozen or added since."""
    capture = facts.capture
    thawed = [c for c in capture.leaf_changes if c.requires_grad and c.tensor in change.tensors and c.at <= change.at]
    added = [] if thawed else _added(facts, change)
    new = [c.tensor for c in thawed] or [t for c in added for t in c.tensors] or list(change.tensors)
    names = [facts.name(t) for t in new]
    sizes = " and ".join(text for text in change.detail if "groups" in text)
    what = "began to require grad since" if thawed else "came to the model since"
    what = f"; {folded(names)} {what}" if thawed or added else f"; the optimizer holds {folded(names)}"
    optimizer = capture.placement.optimizers[change.optimizer]
    if not thawed and not added and regrouped(change):
        yield other_groups(facts, change, optimizer, names)
        return
    yield Finding(
        "AG409",
        "state-missing",
        "error",
        f"{change.api} refused the checkpoint: its groups hold other numbers of parameters ({sizes}){what}",
        "Build the optimizer with the parameters that it had when the checkpoint was written, load, and then call "
        "add_param_group({'params': [...]}) for the new ones.",
        unique(
            [
                *(place for c in thawed[-2:] for place in facts.chain(c.site, "unfrozen here")),
                *(place for c in added[-2:] for place in facts.chain(c.site, "added here")),
                *facts.chain(change.site, "loaded here"),
            ]
        ),
        tuple(dict.fromkeys(names)),
    )


def _added(facts: Facts, change: Change) -> list[Change]:
    """What the model got after an optimizer had already been made, that of the checkpoint presumably."""
    before = facts.capture.changes[: facts.capture.changes.index(change)]
    first = next((i for i, c in enumerate(before) if c.kind == "optimizer_created"), len(before))
    return [c for c in before[first:] if c.kind == "registered" and set(c.tensors) & set(change.tensors)]


def _missing(facts: Facts, optimizer: OptimizerRecord, names: list[str]) -> Finding:
    return Finding(
        "AG409",
        "state-missing",
        "warning",
        f"{optimizer.type}: {folded(names)} {'has' if len(names) == 1 else 'have'} no state after loading while the other "
        "parameters do: their moments start from zero",
        "Check that the checkpoint was written with the same parameters in the same order.",
        unique(
            [
                *loads_of(facts, optimizer),
                *assigned_by_program(facts, optimizer),
                *facts.chain(optimizer.site, "optimizer made here"),
            ]
        ),
        tuple(dict.fromkeys(names)),
    )
