"""AG401 and AG402: optimizer state that does not belong to its parameter's device or dtype."""

from __future__ import annotations

import math
from collections.abc import Iterator

from autograd_inspector.model.event import Change
from autograd_inspector.model.finding import Finding, Severity
from autograd_inspector.model.location import Location
from autograd_inspector.model.placement import OptimizerRecord, ParameterRow, StateEntry
from autograd_inspector.rules.catalogue import Facts, folded, joined, rule, unique
from autograd_inspector.rules.checkpoint import before_loading
from autograd_inspector.rules.cutting import differentiable
from autograd_inspector.rules.pasted import state_moved, variable

Misplaced = tuple[ParameterRow, StateEntry]
_OWN_STATE = ("torch.optim", "torch.distributed.optim", "schedulefree")
_GOES_ON = {"SGD", "Adadelta", "Adagrad", "ASGD", "Rprop", "SparseAdam"}
"""Their steps compute with state of another dtype; the others of torch and schedule-free interpolate (lerp), which
raises. Measured by tests/placement."""


@rule("AG401", "state-device")
def state_device(facts: Facts) -> Iterator[Finding]:
    """Optimizer state that is not on its parameter's device (a CPU `step` counter is fine unless fused or capturable).

    Why it matters
        `model.to(device)` moves parameters and leaves optimizer state behind. Adam raises at the next step; SGD with
        momentum on another device may not even do that.

    Example
        ::

            optimizer.load_state_dict(checkpoint)
            for state in optimizer.state.values():
                state["exp_avg"] = state["exp_avg"].to("meta")
            optimizer.step()

    Fix
        ::

            optimizer.load_state_dict(checkpoint)
            optimizer.step()

    References
        torch.optim.Optimizer.load_state_dict (it moves state to its parameter's device).
    """
    yield from before_loading(facts, "AG401")
    for optimizer in facts.capture.placement.optimizers:
        wrong = [(row, entry) for row, entry in _own(facts, optimizer, device=True) if entry.device != row.device]
        if wrong:
            yield _finding(facts, "AG401", "state-device", optimizer, wrong, _device_text(facts, optimizer, wrong))


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
        wrong = [(row, entry) for row, entry in _own(facts, optimizer, device=False) if _clashing(row, entry)]
        if wrong:
            yield _finding(facts, "AG402", "state-dtype", optimizer, wrong, _dtype_text(facts, optimizer, wrong))
        yield from _cast_by_loading(facts, optimizer)


def _rows(facts: Facts, optimizer: OptimizerRecord) -> list[ParameterRow]:
    return [row for row in facts.capture.placement.rows if row.optimizer == optimizer.id]


def _clashing(row: ParameterRow, entry: StateEntry) -> bool:
    return entry.dtype != row.dtype and differentiable(entry.dtype) and differentiable(row.dtype)


def _own(facts: Facts, optimizer: OptimizerRecord, *, device: bool) -> Iterator[Misplaced]:
    """The entries that have to be where their parameter is: of its shape, and no design of their own explains them."""
    rows = _rows(facts, optimizer)
    elements = sum(math.prod(row.shape) for row in rows)
    known = device or optimizer.module.startswith(_OWN_STATE)
    for row in rows:
        settings = optimizer.groups[row.group] if 0 <= row.group < len(optimizer.groups) else {}
        on_device = "True" in {settings.get("fused"), settings.get("capturable")}
        for entry in row.state:
            if entry.name == "step":
                belongs = device and on_device
            else:
                # LBFGS keeps one vector of all parameters' elements with the first of them.
                belongs = known and (entry.shape in {row.shape, (elements,)})
            if belongs:
                yield row, entry


def _device_text(facts: Facts, optimizer: OptimizerRecord, wrong: list[Misplaced]) -> tuple[str, str]:
    row, entry = wrong[0]
    kinds = joined(dict.fromkeys(e.name for _, e in wrong), 4)
    names = folded(r.name for r, _ in wrong)
    moved = state_moved(facts, optimizer, [r for r, _ in wrong])
    return (
        f"{kinds} of {names} {'is' if len(wrong) == 1 else 'are'} on {entry.device} while the parameters are on "
        f"{row.device}",
        "Move the model first, then build the optimizer and load its state. "
        + (f"For the state that is there now: `{moved}`." if moved else "State on meta has no data: load it again."),
    )


def _dtype_text(facts: Facts, optimizer: OptimizerRecord, wrong: list[Misplaced]) -> tuple[str, str]:
    row, entry = wrong[0]
    kinds = joined(dict.fromkeys(e.name for _, e in wrong), 4)
    names = folded(r.name for r, _ in wrong)
    name = variable(facts, optimizer)
    return (
        f"{kinds} of {names} {'is' if len(wrong) == 1 else 'are'} {entry.dtype} while the parameters are {row.dtype}",
        "Convert the model first, then build the optimizer and load its state. For the state that is there now: "
        f"`{name}.load_state_dict({name}.state_dict())` casts it to the parameters' dtype.",
    )


def _finding(
    facts: Facts, code: str, name: str, optimizer: OptimizerRecord, wrong: list[Misplaced], text: tuple[str, str]
) -> Finding:
    steps = [step for step in facts.capture.steps if step.optimizer == optimizer.id]
    raises = any(step.error for step in steps) or (not steps and _refuses(optimizer))
    severity: Severity = "error" if raises or code == "AG401" else "warning"
    message, fix = text
    return Finding(
        code,
        name,
        severity,
        f"{optimizer.type}: {message}{_because(facts, optimizer, wrong)}",
        fix,
        _culprit(facts, optimizer, wrong),
        tuple(dict.fromkeys([*(row.name for row, _ in wrong), *(entry.name for _, entry in wrong)])),
    )


def _refuses(optimizer: OptimizerRecord) -> bool:
    """Whether its next step raises when its state is of another dtype than the parameters."""
    fused = any(group.get("fused") == "True" for group in optimizer.groups)
    return fused or (optimizer.module.startswith(_OWN_STATE) and optimizer.type not in _GOES_ON)


def _conversion(facts: Facts, optimizer: OptimizerRecord, wrong: list[Misplaced]) -> Change | None:
    """The last conversion of the parameters after their state was there."""
    tensors = {row.tensor for row, _ in wrong}
    found = [
        change
        for change in facts.capture.changes
        if change.kind == "converted" and tensors & set(change.tensors) and change.at >= optimizer.created_at
    ]
    return found[-1] if found else None


def _because(facts: Facts, optimizer: OptimizerRecord, wrong: list[Misplaced]) -> str:
    change = _conversion(facts, optimizer, wrong)
    return f"; {change.api} moved the parameters and left the state behind" if change is not None else ""


def _culprit(facts: Facts, optimizer: OptimizerRecord, wrong: list[Misplaced]) -> tuple[Location, ...]:
    change = _conversion(facts, optimizer, wrong)
    steps = [step for step in facts.capture.steps if step.optimizer == optimizer.id]
    stepped = facts.chain(steps[-1].site, "step() uses the state here") if steps else ()
    loaded = [
        place
        for c in facts.capture.changes
        if c.kind == "optimizer_load_state_dict" and c.optimizer == optimizer.id
        for place in facts.chain(c.site, "state loaded here")
    ]
    if change is not None:
        return unique([*facts.chain(change.site, "parameters converted here"), *loaded, *stepped])
    made = facts.flow.birth(wrong[0][1].tensor) if wrong[0][1].tensor >= 0 else None
    placed = facts.chain(made.site, "state placed here") if made is not None else ()
    return unique([*placed, *loaded, *facts.chain(optimizer.site, "optimizer made here"), *stepped])


def _cast_by_loading(facts: Facts, optimizer: OptimizerRecord) -> Iterator[Finding]:
    """``load_state_dict`` changed the dtype of state on its own, and the state still has it."""
    for change in facts.capture.changes:
        if change.kind != "optimizer_load_state_dict" or change.optimizer != optimizer.id:
            continue
        for cast in change.detail:
            name, _, dtypes = cast.partition(": ")
            before, _, after = dtypes.partition(" -> ")
            rows = [r for r in _rows(facts, optimizer) for e in r.state if e.name == name and e.dtype == after]
            widened = differentiable(before) and _bits(after) >= _bits(before)
            if not rows or widened:
                continue
            raised = any(step.error and step.optimizer == optimizer.id for step in facts.capture.steps)
            yield Finding(
                "AG402",
                "state-dtype",
                "error" if raised else "warning",
                f"{change.api} cast `{name}` of {joined(r.name for r in rows)} from {before} to {after}: it casts all "
                "state but `step` to the parameters' dtype",
                f"Restore the dtype after loading (`state['{name}'] = state['{name}'].to(torch.{before})` for each "
                "state), or override load_state_dict in the optimizer.",
                facts.chain(change.site, "state loaded and cast here"),
                tuple(dict.fromkeys([name, *(row.name for row in rows)])),
            )


def _bits(dtype: str) -> int:
    digits = "".join(c for c in dtype.split("_", maxsplit=1)[0] if c.isdigit())
    return int(digits) if digits else 0
