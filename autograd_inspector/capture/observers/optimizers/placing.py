"""The placement of a finished capture: every parameter that an optimizer or a model has, named."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from autograd_inspector.capture.observers.optimizers.placement import row_of
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.display_names import DisplayNames
from autograd_inspector.model.placement import Placement
from autograd_inspector.model.placement_rows import ParameterRow
from autograd_inspector.model.steps_history import History
from autograd_inspector.model.tensor import TensorRecord


def placement_of(
    recording: Recording,
    tensors: tuple[TensorRecord, ...],
    namespace: str,
    history: History,
    models: dict[int, str],
) -> Placement:
    """Rows of the optimizers as they were last read, then the parameters that no optimizer holds.

    ``namespace`` is the model that all qualified names are in, ``models`` says which model has a parameter now.
    """
    filled = {t for run in recording.backwards for t in run.reached if t not in run.empty} | set(history.reached)
    ended = [run for run in recording.backwards if not run.error]  # One that raised may have got nowhere.
    reached = {t for run in ended for t in run.reached if t not in run.empty}.union(
        history.reached, *(run.taken for run in ended)
    )
    rows = [row for number in sorted(recording.rows) for row in recording.rows[number]]
    held = {row.tensor for row in rows}
    trained = _trained(recording)
    # What has no name and lost its gradient at once is a wrapper's own: the unsharded parameters of FSDP.
    loose = [t for t in tensors if t.kind == "parameter" and t.id not in held and (t.names or t.id in filled)]
    names = DisplayNames(tensors, namespace)
    named_rows = (
        replace(
            row,
            name=names.of(row.tensor) or _described(row),
            names=tensors[row.tensor].names,
            model=models.get(row.tensor, ""),
            reached=row.tensor in reached,
            bare=row.tensor in trained.get(row.optimizer, ()) and not tensors[row.tensor].names,
        )
        for row in (*rows, *_loose_rows(recording, loose))
    )
    return Placement(tuple(named_rows), tuple(recording.optimizers[i] for i in sorted(recording.optimizers)))


def _trained(recording: Recording) -> dict[int, set[int]]:
    """Optimizer -> the leaves that backward reached since its last step but one."""
    begun: dict[int, tuple[int, int]] = {}
    for step in recording.steps:
        begun[step.optimizer] = (begun.get(step.optimizer, (-1, -1))[1], step.at)
    return {
        optimizer: {t for run in recording.backwards if run.start > before for t in run.reached}
        for optimizer, (before, _) in begun.items()
    }


def _loose_rows(recording: Recording, loose: list[TensorRecord]) -> Iterator[ParameterRow]:
    """Read now where the program still has the parameter; else what was known of it."""
    alive = dict(recording.registry.alive([record.id for record in loose]))
    for record in loose:
        if record.id in alive:
            yield row_of(recording, alive[record.id])
        else:
            yield ParameterRow(
                record.shape,
                record.dtype,
                record.device,
                record.nbytes,
                record.storage,
                record.nbytes,
                tensor=record.id,
                requires_grad=record.requires_grad,
            )


def _described(row: ParameterRow) -> str:
    group = f"group {row.group} " if row.group >= 0 else ""
    return f"{group}parameter {list(row.shape)}"
