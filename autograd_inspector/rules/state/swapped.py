"""AG403 where a load gave parameters the state of others: it matches by position."""

from __future__ import annotations

from autograd_inspector.model.event import BY_NAME, Change
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.placement import OptimizerRecord
from autograd_inspector.rules.facts import Facts
from autograd_inspector.rules.optimizers.pasted import variable
from autograd_inspector.rules.wording.names import joined
from autograd_inspector.rules.wording.places import unique


def state_swapped(facts: Facts, change: Change) -> Finding:
    """State matched by position that was another parameter's of the same optimizer."""
    pairs = list(zip(change.tensors[::2], change.tensors[1::2], strict=True))
    names = [facts.name(t) for pair in pairs for t in pair]
    new, old = pairs[0]
    optimizer = facts.capture.placement.optimizers[change.optimizer]
    got = {row.tensor: row.state for row in facts.capture.placement.rows if row.optimizer == optimizer.id}
    kinds = [entry.name for t, _ in pairs for entry in got.get(t, ()) if entry.name != "step"]
    what = f"the {joined(kinds, 4)}" if kinds else "the state"
    others = [f"{facts.name(to)} that of {facts.name(of)}" for to, of in pairs[1:]]
    raised = any(step.error and step.optimizer == change.optimizer for step in facts.capture.steps)
    return Finding(
        "AG403",
        "state-shape",
        "error" if raised else "warning",
        f"{change.api} matched state by position, and the parameters are in another order than when it was saved"
        f"{' (their param_names tell)' if BY_NAME in change.detail else ''}: {facts.name(new)} got {what} of "
        f"{facts.name(old)}{', ' if others else ''}{joined(others, 3)}",
        "Build the optimizer from the same parameters in the same order and groups as the one that was saved"
        f"{_renumbered(facts, optimizer) if BY_NAME in change.detail else ''}.",
        unique(
            [
                *facts.chain(change.site, "state loaded here"),
                *facts.chain(optimizer.site, "optimizer made here"),
            ]
        ),
        tuple(dict.fromkeys(names)),
    )


def _renumbered(facts: Facts, optimizer: OptimizerRecord) -> str:
    """Statements that load the state by the names in the groups."""
    name = variable(facts, optimizer)
    return (
        """, or number the state anew by name: `names = [n for g in checkpoint["param_groups"] for n in g["param_names"]]`, """
        f"""`own = [n for g in {name}.param_groups for n in g["param_names"]]`, `{name}.load_state_dict({{"state": """
        """{i: checkpoint["state"][names.index(n)] for i, n in enumerate(own) if names.index(n) in checkpoint["state"]}, """
        f""""param_groups": {name}.state_dict()["param_groups"]}})` (learning rates and other settings stay as they are)"""
    )
