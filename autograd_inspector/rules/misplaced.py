"""Optimizer state that does not belong to its parameter: which entries have to, who left them behind, whether it raises."""

from __future__ import annotations

import math
from collections.abc import Iterator

from autograd_inspector.model.event import Change
from autograd_inspector.model.finding import Finding, Severity
from autograd_inspector.model.location import Location
from autograd_inspector.model.placement import OptimizerRecord, ParameterRow, StateEntry
from autograd_inspector.rules.catalogue import Facts, unique

Misplaced = tuple[ParameterRow, StateEntry]
_OWN_STATE = ("torch.optim", "torch.distributed.optim", "schedulefree")
_GOES_ON = {"SGD", "Adadelta", "Adagrad", "ASGD", "Rprop", "SparseAdam"}
"""Their steps compute with state of another dtype; the others of torch and schedule-free interpolate (lerp), which
raises. Measured by tests/placement."""


def rows_of(facts: Facts, optimizer: OptimizerRecord) -> list[ParameterRow]:
    """The rows of the parameters that its groups hold."""
    return [row for row in facts.capture.placement.rows if row.optimizer == optimizer.id and row.group >= 0]


def entries(facts: Facts, optimizer: OptimizerRecord, *, device: bool) -> Iterator[Misplaced]:
    """The entries that have to be where their parameter is: of its shape, and no design of their own explains them."""
    rows = rows_of(facts, optimizer)
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


def misplaced(
    facts: Facts, code: str, name: str, optimizer: OptimizerRecord, wrong: list[Misplaced], text: tuple[str, str]
) -> Finding:
    """One finding about all of an optimizer's entries that are wrong alike; ``text`` is (message, fix)."""
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
