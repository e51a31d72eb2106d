"""AG402: optimizer state of a dtype that the step cannot use, or that a load changed."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.finding import Finding
from autograd_inspector.model.placement import OptimizerRecord, ParameterRow, StateEntry
from autograd_inspector.rules.catalogue import rule
from autograd_inspector.rules.checkpoints.before_load import before_loading
from autograd_inspector.rules.cuts.cutting import differentiable
from autograd_inspector.rules.facts import Facts
from autograd_inspector.rules.optimizers.pasted import TARGET, stepper, variable
from autograd_inspector.rules.state.misplaced import Misplaced, entries, misplaced, refuses, rows_of
from autograd_inspector.rules.wording.names import folded, joined


@rule("AG402", "state-dtype")
def state_dtype(facts: Facts) -> Iterator[Finding]:
    """Optimizer state of a dtype that the step cannot use, or that a load silently changed.

    Why it matters
        `model.to(dtype)` after `load_state_dict` converts parameters only: Adam raises "expected dtype", SGD goes on
        with momentum of the old precision. `load_state_dict` in turn casts every state tensor but `step` to its
        parameter's dtype, also quantised codes and float32 moments of a bfloat16 model.

    Example
        ::

            optimizer.load_state_dict(checkpoint)
            net.double()
            net(x.double()).pow(2).mean().backward()
            optimizer.step()

    Fix
        ::

            net.double()
            optimizer.load_state_dict(checkpoint)
            net(x.double()).pow(2).mean().backward()
            optimizer.step()

    References
        torch.optim.Optimizer.load_state_dict; torch.nn.Module.to.
    """
    yield from before_loading(facts, "AG402")
    for optimizer in facts.capture.placement.optimizers:
        wrong = [(row, entry) for row, entry in entries(facts, optimizer, device=False) if _clashing(row, entry)]
        if wrong:
            yield misplaced(facts, "AG402", "state-dtype", optimizer, wrong, _dtype_text(facts, optimizer, wrong))
        yield from _cast_by_loading(facts, optimizer)


def _clashing(row: ParameterRow, entry: StateEntry) -> bool:
    return entry.dtype != row.dtype and differentiable(entry.dtype) and differentiable(row.dtype)


def _dtype_text(facts: Facts, optimizer: OptimizerRecord, wrong: list[Misplaced]) -> tuple[str, str]:
    row, entry = wrong[0]
    kinds = joined(dict.fromkeys(e.name for _, e in wrong), 4)
    names = folded(r.name for r, _ in wrong)
    name = stepper(facts, optimizer)
    return (
        f"{kinds} of {names} {'is' if len(wrong) == 1 else 'are'} {entry.dtype} while the parameters are {row.dtype}",
        "Convert the model first, then build the optimizer and load its state. For the state that is there now: "
        f"`{name}.load_state_dict({name}.state_dict())` casts it to the parameters' dtype.",
    )


def _cast_by_loading(facts: Facts, optimizer: OptimizerRecord) -> Iterator[Finding]:
    """``load_state_dict`` changed the dtype of state on its own, and the state still has it."""
    for change in facts.timeline.loads_of(optimizer.id).all:
        casts = [cast for text in change.detail if (cast := _lowered(facts, optimizer, text)) is not None]
        for before, after in dict.fromkeys(cast[1:] for cast in casts):
            kinds = [name for name, *dtypes in casts if (before, after) == tuple(dtypes)]
            rows = [
                row for row in rows_of(facts, optimizer) if any(e.name in kinds and e.dtype == after for e in row.state)
            ]
            raised = any(step.error and step.optimizer == optimizer.id for step in facts.capture.steps)
            yield Finding(
                "AG402",
                "state-dtype",
                "error" if raised else "warning",
                f"{change.api} cast {joined((f'`{name}`' for name in kinds), 4)} of {folded(r.name for r in rows)} from "
                f"{before} to {after}: it casts all state but `step` to the parameters' dtype",
                _uncast(facts, optimizer, rows, kinds, before),
                facts.chain(change.site, "state loaded and cast here"),
                tuple(dict.fromkeys([*kinds, *(row.name for row in rows)])),
            )


def _lowered(facts: Facts, optimizer: OptimizerRecord, text: str) -> tuple[str, str, str] | None:
    """(entry, dtype before, dtype after) of a cast by loading that the state still shows and that loses something."""
    name, _, dtypes = text.partition(": ")
    before, _, after = dtypes.partition(" -> ")
    widened = differentiable(before) and _bits(after) >= _bits(before)
    there = any(e.name == name and e.dtype == after for row in rows_of(facts, optimizer) for e in row.state)
    return (name, before, after) if there and not widened else None


def _uncast(facts: Facts, optimizer: OptimizerRecord, rows: list[ParameterRow], kinds: list[str], before: str) -> str:
    """torch's own optimizers compute with state of their parameters' dtype alone; others may know better."""
    if refuses(optimizer) and differentiable(before):
        models = {facts.capture.owners.get(row.tensor, -1) for row in rows}
        known = facts.capture.models[models.pop()] if len(models) == 1 and -1 not in models else ""
        known = known if TARGET.fullmatch(known) else "model"
        return (
            f"Keep the parameters in the dtype that the state was made for: `{known}.to(torch.{before})` before the optimizer "
            "is built and loaded; compute in the lower precision under torch.autocast. "
            f"{optimizer.type} cannot step with state of another dtype than its parameters."
        )
    each = f"for s in {variable(facts, optimizer)}.state.values(): s.update({{k: s[k].to(torch.{before}) for k in {kinds}}})"
    return f"Restore the dtype after loading (`{each}`), or override load_state_dict in the optimizer."


def _bits(dtype: str) -> int:
    digits = "".join(c for c in dtype.split("_", maxsplit=1)[0] if c.isdigit())
    return int(digits) if digits else 0
