"""AG403 and AG409: optimizer state that is shaped unlike its parameter, missing, or refused by a load."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.event import Change
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.location import Location
from autograd_inspector.model.placement import OptimizerRecord, ParameterRow
from autograd_inspector.rules.catalogue import Facts, folded, joined, rule, unique

_ELEMENTWISE = set(
    "exp_avg exp_avg_sq max_exp_avg_sq exp_inf momentum_buffer square_avg grad_avg acc_delta sum ax prev z".split()
)
"""State that torch's own and schedule-free optimizers keep once for each element of the parameter."""
_SIZE_ERROR = "doesn't match the size of optimizer's group"


@rule("AG403", "state-shape")
def state_shape(facts: Facts) -> Iterator[Finding]:
    """Optimizer state that is shaped unlike its parameter.

    Why it matters
        `load_state_dict` matches state by position and checks no shapes. The step then fails with "the size of tensor
        a must match the size of tensor b", which names neither parameter nor state.

    Example
        ::

            wider = nn.Linear(4, 3)
            new = torch.optim.Adam(wider.parameters())
            new.load_state_dict(optimizer.state_dict())
            wider(x).pow(2).mean().backward()
            new.step()

    Fix
        ::

            wider = nn.Linear(4, 3)
            new = torch.optim.Adam(wider.parameters())
            wider(x).pow(2).mean().backward()
            new.step()

    References
        torch.optim.Optimizer.load_state_dict ("no shape checks" in its notes).
    """
    for optimizer in facts.capture.placement.optimizers:
        wrong = [
            (row, entry)
            for row in facts.capture.placement.rows
            if row.optimizer == optimizer.id
            for entry in row.state
            if entry.name in _ELEMENTWISE and entry.shape != row.shape
        ]
        if not wrong:
            continue
        row, entry = wrong[0]
        names = [r.name for r, _ in wrong]
        kinds = joined(dict.fromkeys(e.name for _, e in wrong), 4)
        raised = any(step.error and step.optimizer == optimizer.id for step in facts.capture.steps)
        yield Finding(
            "AG403",
            "state-shape",
            "error" if raised else "warning",
            f"{optimizer.type}: {kinds} of {folded(names)} {'has' if len(wrong) == 1 else 'have'} another shape than the "
            f"parameter ({entry.name} {list(entry.shape)}, {row.name} {list(row.shape)})",
            "Pad or cut the loaded state to the new shape, or start these parameters with fresh state: "
            "`optimizer.state.pop(parameter)`.",
            unique([*_loads(facts, optimizer), *facts.chain(optimizer.site, "optimizer made here")]),
            tuple(dict.fromkeys([*names, *(e.name for _, e in wrong)])),
        )


@rule("AG409", "state-missing")
def state_missing(facts: Facts) -> Iterator[Finding]:
    """Some parameters have state, others that step have none; or a load was refused because the groups differ.

    Why it matters
        After a resume, parameters without state start again with zero moments while the rest continue. When a group
        has more parameters than the checkpoint's, nothing is loaded at all.

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
    for change in facts.capture.changes:
        if change.kind == "optimizer_load_failed" and any(_SIZE_ERROR in text for text in change.detail):
            yield _refused(facts, change)
    for optimizer in facts.capture.placement.optimizers:
        loads = [
            c for c in facts.capture.changes if c.kind == "optimizer_load_state_dict" and c.optimizer == optimizer.id
        ]
        rows = [row for row in facts.capture.placement.rows if row.optimizer == optimizer.id and row.requires_grad]
        bare = [row for row in rows if not row.state]
        if loads and bare and len(bare) < len(rows):
            yield _missing(facts, optimizer, bare)


def _loads(facts: Facts, optimizer: OptimizerRecord) -> tuple[Location, ...]:
    return tuple(
        place
        for c in facts.capture.changes
        if c.kind == "optimizer_load_state_dict" and c.optimizer == optimizer.id
        for place in facts.chain(c.site, "state loaded here")
    )


def _refused(facts: Facts, change: Change) -> Finding:
    """The saved groups have other sizes: name what was unfrozen or added since."""
    thawed = [c for c in facts.capture.leaf_changes if c.requires_grad and c.tensor in change.tensors and c.at <= change.at]
    names = [facts.name(c.tensor) for c in thawed] or [facts.name(t) for t in change.tensors]
    sizes = " and ".join(text for text in change.detail if "groups" in text)
    what = f"; {folded(names)} began to require grad since" if thawed else f"; the optimizer holds {folded(names)}"
    return Finding(
        "AG409",
        "state-missing",
        "error",
        f"{change.api} refused the checkpoint: its groups hold other numbers of parameters ({sizes}){what}",
        "Build the optimizer with the parameters that it had when the checkpoint was written, load, and then call "
        "add_param_group({'params': [...]}) for the new ones.",
        unique([
            *(place for c in thawed[-2:] for place in facts.chain(c.site, "unfrozen here")),
            *facts.chain(change.site, "loaded here"),
        ]),
        tuple(dict.fromkeys(names)),
    )


def _missing(facts: Facts, optimizer: OptimizerRecord, bare: list[ParameterRow]) -> Finding:
    names = [row.name for row in bare]
    return Finding(
        "AG409",
        "state-missing",
        "warning",
        f"{optimizer.type}: {folded(names)} {'has' if len(names) == 1 else 'have'} no state after loading while the other "
        "parameters do: their moments start from zero",
        "Check that the checkpoint was written with the same parameters in the same order.",
        unique([*_loads(facts, optimizer), *facts.chain(optimizer.site, "optimizer made here")]),
        tuple(dict.fromkeys(names)),
    )
