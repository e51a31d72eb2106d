"""A placement as flat dictionaries."""

from __future__ import annotations

from typing import Any

from autograd_inspector.model.placement import Held, ParameterRow, Placement

_HELD = ("shape", "dtype", "device", "bytes", "placements", "mesh", "local_shape", "local_bytes")


def records_of(placement: Placement) -> list[dict[str, Any]]:
    """One dictionary a row, all with the same keys; what a row does not have is None."""
    optimizers = {optimizer.id: optimizer for optimizer in placement.optimizers}
    kinds = list(dict.fromkeys(entry.name for row in placement.rows for entry in row.state))
    settings = list(dict.fromkeys(name for o in optimizers.values() for group in o.groups for name in group))
    found = []
    for row in placement.rows:
        optimizer = optimizers.get(row.optimizer)
        group = optimizer.groups[row.group] if optimizer is not None and row.group >= 0 else {}
        entries = {entry.name: entry for entry in row.state}
        record = {
            "name": row.name,
            "names": row.names,
            "model": row.model or None,
            **_held("", row),
            "requires_grad": row.requires_grad,
            "reached": row.reached,
            "standing": placement.standing(row),
            **_held("grad.", row.gradient),
            "grad.version": row.gradient.version if row.gradient is not None else None,
            "optimizer": optimizer.type if optimizer is not None else None,
            "group": row.group if optimizer is not None else None,
        }
        for kind in kinds:
            record |= _held(f"state.{kind}.", entries.get(kind))
        record |= {f"group.{name}": group.get(name) for name in settings}
        record["bytes.total"] = _own(row)
        found.append(record)
    return found


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


def _own(row: ParameterRow) -> int:
    gradient = row.gradient.nbytes if row.gradient is not None else 0
    return row.nbytes + gradient + sum(entry.nbytes for entry in row.state)
