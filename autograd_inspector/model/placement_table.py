"""A placement as a table: a flat dictionary a row, all with the same keys."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from autograd_inspector.model.placement_rows import Held, OptimizerRecord, ParameterRow
from autograd_inspector.model.settings import setting_text

_HELD = ("shape", "dtype", "device", "bytes", "placements", "mesh", "local_shape", "local_bytes")


class Columns:
    """The columns of all rows: the kinds of state that there are, and the settings of the groups."""

    def __init__(self, rows: Iterable[ParameterRow], optimizers: Iterable[OptimizerRecord]) -> None:
        self._optimizers = {optimizer.id: optimizer for optimizer in optimizers}
        self._kinds = list(dict.fromkeys(entry.name for row in rows for entry in row.state))
        groups = [group for optimizer in self._optimizers.values() for group in optimizer.groups]
        self._settings = list(dict.fromkeys(name for group in groups for name in group))

    def record(self, row: ParameterRow, standing: str) -> dict[str, Any]:
        """One row; what it does not have is None."""
        optimizer = self._optimizers.get(row.optimizer)
        group = optimizer.groups[row.group] if optimizer is not None and row.group >= 0 else {}
        entries = {entry.name: entry for entry in row.state}
        record = {
            "name": row.name,
            "names": row.names,
            "model": row.model or None,
            **_held("", row),
            "requires_grad": row.requires_grad,
            "reached": row.reached,
            "standing": standing,
            **_held("grad.", row.gradient),
            "grad.version": row.gradient.version if row.gradient is not None else None,
            "optimizer": optimizer.type if optimizer is not None else None,
            "group": row.group if optimizer is not None else None,
        }
        for kind in self._kinds:
            record |= _held(f"state.{kind}.", entries.get(kind))
        record |= {f"group.{name}": setting_text(group[name]) if name in group else None for name in self._settings}
        record["bytes.total"] = _bytes_of_row(row)
        return record


def _held(prefix: str, held: Held | None) -> dict[str, Any]:
    if held is None:
        return dict.fromkeys((f"{prefix}{key}" for key in _HELD), None)
    spread = held.sharding
    return {
        f"{prefix}shape": held.shape,
        f"{prefix}dtype": held.dtype,
        f"{prefix}device": held.device,
        f"{prefix}bytes": held.nbytes,
        f"{prefix}placements": spread.placements if spread is not None else None,
        f"{prefix}mesh": spread.mesh if spread is not None else None,
        f"{prefix}local_shape": spread.local_shape if spread is not None else held.shape,
        f"{prefix}local_bytes": spread.local_nbytes if spread is not None else held.nbytes,
    }


def _bytes_of_row(row: ParameterRow) -> int:
    gradient = row.gradient.nbytes if row.gradient is not None else 0
    return row.nbytes + gradient + sum(entry.nbytes for entry in row.state)
