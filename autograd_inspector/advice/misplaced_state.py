"""Optimizer state that does not belong to its parameter: which entries have to, who left them behind, whether it raises."""

from __future__ import annotations

import math
from collections.abc import Iterator

from msgspec.structs import replace

from autograd_inspector.advice.remedies.optimizers import state_brought
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.state_lines import assigned_by_program, is_assigned, made_by_class
from autograd_inspector.model.finding import Problem, Severity
from autograd_inspector.model.location import Location, dedupe_locations
from autograd_inspector.model.placement_rows import OptimizerRecord, ParameterRow, StateEntry
from autograd_inspector.model.program_events import OptimizerCreated, ParametersConverted, StateAssigned
from autograd_inspector.model.remedy import LeaveThere, Remedies
from autograd_inspector.model.torch_errors import TorchError, says

Misplaced = tuple[ParameterRow, StateEntry]
_OWN_STATE = ("torch.optim", "torch.distributed.optim", "schedulefree")
_GOES_ON = {"SGD", "Adadelta", "Adagrad", "ASGD", "Rprop", "SparseAdam"}
"""Their steps compute with state of another dtype; the others of torch and schedule-free interpolate (lerp), which
raises. Measured by tests/placement."""


def rows_of(analysis: Analysis, optimizer: OptimizerRecord) -> list[ParameterRow]:
    """The rows of the parameters that its groups hold."""
    return [row for row in analysis.capture.placement.rows_of.get(optimizer.id, ()) if row.group >= 0]


def entries(analysis: Analysis, optimizer: OptimizerRecord, *, device: bool) -> Iterator[Misplaced]:
    """The entries that have to be where their parameter is: of its shape, and no design of their own explains them."""
    rows = rows_of(analysis, optimizer)
    elements = sum(math.prod(row.shape) for row in rows)
    checked = device or optimizer.module.startswith(_OWN_STATE) or _raised_for_dtypes(analysis, optimizer)
    for row in rows:
        settings = optimizer.groups[row.group] if 0 <= row.group < len(optimizer.groups) else {}
        on_device = settings.get("fused") is True or settings.get("capturable") is True
        for entry in row.state:
            if entry.holder:
                belongs = False  # Where it has to be is for the object to know.
            elif entry.name == "step":
                belongs = device and on_device
            else:
                # LBFGS keeps one vector of all parameters' elements with the first of them.
                belongs = checked and (entry.shape in {row.shape, (elements,)})
            if belongs:
                yield row, entry


def _raised_for_dtypes(analysis: Analysis, optimizer: OptimizerRecord) -> bool:
    """Whether a step of it, whoever wrote the class, failed because two tensors are of different dtypes."""
    steps = analysis.timeline.steps_of(optimizer.id).all
    return any(says(step.error, TorchError.OTHER_DTYPES) for step in steps)


def misplaced(
    analysis: Analysis,
    optimizer: OptimizerRecord,
    misplaced_entries: list[Misplaced],
    text: tuple[str, str],
    *,
    always: bool,
) -> Problem:
    """All of an optimizer's entries that are wrong alike; ``text`` is (message, fix).

    An error where the step raises, or ``always``.
    """
    steps = analysis.timeline.steps_of(optimizer.id).all
    raises = any(step.error for step in steps) or (not steps and refuses(optimizer))
    severity: Severity = "error" if always or raises else "warning"
    message, fix = text
    culprits = _culprit(analysis, optimizer, misplaced_entries)
    return Problem(
        severity,
        f"{optimizer.type}: {message}{_because(analysis, optimizer, misplaced_entries)}",
        fix,
        culprits,
        (*(row.name for row, _ in misplaced_entries), *(entry.name for _, entry in misplaced_entries)),
        cures=(
            *state_brought(analysis, optimizer, [row for row, _ in misplaced_entries], culprits),
            *_left_there(misplaced_entries, culprits),
        ),
        safe=True,
    )


def refuses(optimizer: OptimizerRecord) -> bool:
    """Whether its next step raises when its state is of another dtype than the parameters."""
    fused = any(group.get("fused") is True for group in optimizer.groups)
    return fused or (optimizer.module.startswith(_OWN_STATE) and optimizer.type not in _GOES_ON)


def conversion(
    analysis: Analysis, optimizer: OptimizerRecord, misplaced_entries: list[Misplaced]
) -> ParametersConverted | None:
    """The last conversion of the parameters after their state was there."""
    tensors = {row.tensor for row, _ in misplaced_entries}
    events = analysis.capture.events
    made = [i for i, e in enumerate(events) if isinstance(e, OptimizerCreated) and e.optimizer == optimizer.id]
    conversions = [
        event
        for event in events[max(made, default=-1) + 1 :]
        if isinstance(event, ParametersConverted) and tensors & set(event.tensors)
        if event.at >= optimizer.created_at and _had_state(analysis, optimizer, misplaced_entries, event)
    ]
    return conversions[-1] if conversions else None


def _had_state(
    analysis: Analysis, optimizer: OptimizerRecord, misplaced_entries: list[Misplaced], change: ParametersConverted
) -> bool:
    """Whether state can have been left behind by a conversion: it was made, stepped, loaded or set before it."""
    capture = analysis.capture
    steps = [step for step in capture.steps if step.optimizer == optimizer.id]
    done = [step for step in steps if not step.error]
    if optimizer.site < 0 or optimizer.steps > len(done) or any(step.at <= change.at for step in done):
        return True
    loads = analysis.timeline.loads_of(optimizer.id).all
    births = [analysis.flow.birth(entry.tensor) for _, entry in misplaced_entries if entry.tensor >= 0]
    return any(load.at <= change.at for load in loads) or any(op is not None and op.index < change.at for op in births)


def _because(analysis: Analysis, optimizer: OptimizerRecord, misplaced_entries: list[Misplaced]) -> str:
    change = conversion(analysis, optimizer, misplaced_entries)
    if change is not None:
        return f"; {change.api} changed the parameters but not the state"
    return (
        f"; {optimizer.type} itself creates it there"
        if made_by_own_step(analysis, optimizer, misplaced_entries)
        else ""
    )


def made_by_own_step(
    analysis: Analysis, optimizer: OptimizerRecord, misplaced_entries: list[Misplaced]
) -> tuple[Location, ...]:
    """The lines of a hand-written optimizer that make state which nobody else has converted, loaded or set."""
    _, entry = misplaced_entries[0]
    placed = analysis.flow.birth(entry.tensor) if entry.tensor >= 0 else None
    if conversion(analysis, optimizer, misplaced_entries) is not None or _loaded(analysis, optimizer):
        return ()
    lines = made_by_class(analysis, optimizer, {entry.name for _, entry in misplaced_entries})
    if placed is None:
        return () if is_assigned(analysis, optimizer, [entry.name]) else lines
    at = analysis.user_frames(placed.site, "")
    return lines if at and any(at[0].line == p.line for p in lines) else ()


def _loaded(analysis: Analysis, optimizer: OptimizerRecord) -> list[Location]:
    return [
        place
        for load in analysis.timeline.loads_of(optimizer.id).all
        for place in analysis.user_frames(load.site, "state loaded here")
    ]


def _culprit(
    analysis: Analysis, optimizer: OptimizerRecord, misplaced_entries: list[Misplaced]
) -> tuple[Location, ...]:
    change = conversion(analysis, optimizer, misplaced_entries)
    steps = analysis.timeline.steps_of(optimizer.id).all
    stepped = analysis.user_frames(steps[-1].site, "step() uses the state here") if steps else ()
    loaded = _loaded(analysis, optimizer)
    if change is not None:
        return dedupe_locations([*analysis.user_frames(change.site, "parameters converted here"), *loaded, *stepped])
    made = analysis.flow.birth(misplaced_entries[0][1].tensor) if misplaced_entries[0][1].tensor >= 0 else None
    placed = analysis.user_frames(made.site, "state placed here") if made is not None else ()
    made_by_step = made_by_own_step(analysis, optimizer, misplaced_entries)
    keys = {entry.name for _, entry in misplaced_entries}
    assigned = assigned_by_program(analysis, optimizer, keys, kind=StateAssigned) if not made_by_step else ()
    seen = is_assigned(analysis, optimizer, keys)
    if assigned and seen and not any(p.line == q.line for p in placed for q in assigned):
        # What it was made of is another matter: what torch.load returned did no harm until it became state.
        placed = tuple(
            replace(p, role="its values were created here" if i == 0 else p.role) for i, p in enumerate(placed)
        )
        placed = (*assigned, *placed)
    else:
        placed = (*made_by_step, *placed, *assigned)
    return dedupe_locations(
        [*placed, *loaded, *analysis.user_frames(optimizer.site, "optimizer created here"), *stepped]
    )


def _left_there(misplaced_entries: list[Misplaced], culprits: tuple[Location, ...]) -> Iterator[Remedies]:
    """The state stays where it was before a line moved it away from its parameters."""
    devices = {entry.device for row, entry in misplaced_entries if entry.device != row.device}
    yield from ((LeaveThere(place, device),) for device in devices for place in culprits if not place.library)
