"""AG403: optimizer state that does not fit its parameter."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.finding import Finding
from autograd_inspector.model.location import Location
from autograd_inspector.model.placement import Held, OptimizerRecord, ParameterRow, StateEntry
from autograd_inspector.rules.catalogue import rule
from autograd_inspector.rules.checkpoints.before_load import before_loading
from autograd_inspector.rules.facts import Facts
from autograd_inspector.rules.optimizers.pasted import variable
from autograd_inspector.rules.state.kinds import ELEMENTWISE
from autograd_inspector.rules.state.lines import assigned_by_program
from autograd_inspector.rules.state.resized import reshaping, resized
from autograd_inspector.rules.state.swapped import state_swapped
from autograd_inspector.rules.wording.names import folded, joined
from autograd_inspector.rules.wording.places import unique

_SIZE_ERRORS = ("doesn't match the size of optimizer's group", "different number of parameter groups")
_OWN_STATE = {
    "SGD": {"momentum_buffer"},
    "Adam": {"step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"},
    "AdamW": {"step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"},
    "RMSprop": {"step", "square_avg", "momentum_buffer", "grad_avg"},
    "Adagrad": {"step", "sum"},
}
"""The state of the optimizers that checkpoints are mixed up between."""


@rule("AG403", "state-shape")
def state_shape(facts: Facts) -> Iterator[Finding]:
    """Optimizer state that is shaped unlike its parameter.

    Why it matters
        `load_state_dict` matches state by position and checks no shapes. The step then fails with "the size of tensor
        a must match the size of tensor b", which names neither parameter nor state. Where the shapes agree, one parameter
        goes on with another's state, and only names in the groups (`named_parameters()`) can tell.

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
    yield from before_loading(facts, "AG403")
    swapped: set[int] = set()
    for change in facts.capture.changes:
        if change.kind == "state_swapped":
            swapped.add(change.optimizer)
            yield state_swapped(facts, change)
        elif change.kind == "optimizer_load_failed" and not any(is_refusal(text) for text in change.detail):
            yield _foreign(
                facts, change.api, change.detail[-1].partition(": ")[2], facts.chain(change.site, "loaded here")
            )
    for optimizer in facts.capture.placement.optimizers:
        if optimizer.id not in swapped:
            yield from _unfit(facts, optimizer)


def _unfit(facts: Facts, optimizer: OptimizerRecord) -> Iterator[Finding]:
    """State of another shape, or of another optimizer."""
    rows = facts.capture.placement.rows_of.get(optimizer.id, [])
    entries = [(row, entry) for row in rows for entry in row.state]
    wrong = [(row, entry) for row, entry in entries if entry.name in ELEMENTWISE and _unlike(row, entry)]
    loads = loads_of(facts, optimizer)
    own = _OWN_STATE.get(optimizer.type) if optimizer.module.startswith("torch.optim") else None
    foreign = {entry.name for _, entry in entries} - own if own is not None and loads else set()
    if foreign and not wrong:
        yield _foreign(facts, f"{optimizer.type}.load_state_dict()", ", ".join(sorted(foreign)), loads)
    if not wrong:
        return
    row, entry = wrong[0]
    names = [r.name for r, _ in wrong]
    kinds = joined(dict.fromkeys(e.name for _, e in wrong), 4)
    if all(e.shape == r.shape for r, e in wrong):
        yield _unsharded(facts, optimizer, wrong)
        return
    changed = [(r, e, op) for r, e in wrong if (op := reshaping(facts, r, e)) is not None]
    if changed:
        yield resized(facts, optimizer, [(r, e) for r, e, _ in changed], [op for *_, op in changed])
        return
    raised = any(step.error and step.optimizer == optimizer.id for step in facts.capture.steps)
    assigned = assigned_by_program(facts, optimizer)
    written = any("assigned" in place.role for place in assigned)
    yield Finding(
        "AG403",
        "state-shape",
        "error" if raised else "warning",
        f"{optimizer.type}: {kinds} of {folded(names)} {'has' if len(wrong) == 1 else 'have'} another shape than the "
        f"parameter ({entry.name} {list(entry.shape)}, {row.name} {list(row.shape)})",
        f"Pad or cut the {'loaded ' if loads else ''}state to the new shape"
        f"{f' too (`{entry.name}` as well as what is assigned)' if written and not loads else ''}, or start these parameters "
        f"with fresh state: `{variable(facts, optimizer)}.state.pop(parameter)`.",
        unique([*loads, *(assigned if written else ()), *facts.chain(optimizer.site, "optimizer made here")]),
        tuple(dict.fromkeys([*names, *(e.name for _, e in wrong)])),
    )


def _unlike(row: ParameterRow, entry: StateEntry) -> bool:
    """Whether state that there is once for each element is laid out unlike the parameter, over ranks too."""
    if entry.shape != row.shape:
        return True
    own, other = row.sharding, entry.sharding
    if own is None or other is None:
        return own is not other
    return (own.placements, own.mesh) != (other.placements, other.mesh)


def _unsharded(facts: Facts, optimizer: OptimizerRecord, wrong: list[tuple[ParameterRow, StateEntry]]) -> Finding:
    """State of the right shape that is spread over the ranks unlike its parameter."""
    row, entry = wrong[0]
    names = [r.name for r, _ in wrong]
    kinds = joined(dict.fromkeys(e.name for _, e in wrong), 4)
    raised = any(step.error and step.optimizer == optimizer.id for step in facts.capture.steps)
    return Finding(
        "AG403",
        "state-shape",
        "error" if raised else "warning",
        f"{optimizer.type}: {kinds} of {folded(names)} {'is' if len(wrong) == 1 else 'are'} not spread over the ranks like "
        f"the parameter ({entry.name} {_spread(entry)}, {row.name} {_spread(row)})",
        "Load with torch.distributed.checkpoint.state_dict.set_optimizer_state_dict(model, optimizer, "
        "optim_state_dict=state, options=StateDictOptions(full_state_dict=True)), which shards the state like its parameter.",
        unique([*loads_of(facts, optimizer), *facts.chain(optimizer.site, "optimizer made here")]),
        tuple(dict.fromkeys([*names, *(e.name for _, e in wrong)])),
    )


def _spread(held: Held) -> str:
    return "is no DTensor" if held.sharding is None else f"is {', '.join(held.sharding.placements)}"


def _foreign(facts: Facts, api: str, state: str, where: tuple[Location, ...]) -> Finding:
    raised = bool(facts.capture.error)
    return Finding(
        "AG403",
        "state-shape",
        "error" if raised else "warning",
        f"{api} was given the checkpoint of another kind of optimizer: its state ({state}) is not what this one keeps, and "
        "its settings replaced this one's",
        "Load the checkpoint into an optimizer of the class that wrote it, or start this one with fresh state.",
        where,
        (api, *state.split(", ")),
    )


def is_refusal(text: str) -> bool:
    """Whether load_state_dict refused a checkpoint because its groups are other ones."""
    return any(error in text for error in _SIZE_ERRORS)


def loads_of(facts: Facts, optimizer: OptimizerRecord) -> tuple[Location, ...]:
    """Where state was loaded into the optimizer."""
    return tuple(
        place for c in facts.timeline.loads_of(optimizer.id).all for place in facts.chain(c.site, "state loaded here")
    )
