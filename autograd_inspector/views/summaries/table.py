"""The placement table, folded: parameters of equal shape in equal modules share one row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from autograd_inspector.model.placement import Placement, Standing
from autograd_inspector.model.placement_rows import HERE, OptimizerRecord, ParameterRow
from autograd_inspector.model.totals import Total, bytes_of
from autograd_inspector.views.display_text import size
from autograd_inspector.views.summaries.names import NUMBER, pattern_of

HEADERS = ("parameter", "shape", "dtype", "device", "gradient", "optimizer", "state", "bytes + state")
_HOISTED = range(2, 7)
_FEW = 24


class Table(Struct, frozen=True):
    """``common`` is what all parameters share, said once; ``headers`` and ``rows`` are the rest."""

    common: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Order = Literal["model", "bytes"]


def table_of(placement: Placement, order: Order = "model") -> Table:
    """One row for each kind of parameter, or of module where there are many; as in the model, or the largest first."""
    optimizers = {optimizer.id: optimizer for optimizer in placement.optimizers}
    facts = [(row, _facts(row, optimizers, placement.standing(row))) for row in placement.rows]
    rows = _rows(facts, lambda row: row.name, order)
    if len(rows) > _FEW:
        rows = _rows([(row, ("", *cells[1:])) for row, cells in facts], _module, order)
    alike = [n for n in _HOISTED if len(rows) > 1 and len({row[n] for row in rows}) == 1]
    common = ", ".join(f"{HEADERS[n]} {rows[0][n]}" for n in alike if rows[0][n])
    kept = [n for n in range(len(HEADERS)) if n not in alike and any(row[n] for row in rows)]
    return Table(common, tuple(HEADERS[n] for n in kept), tuple(tuple(row[n] for n in kept) for row in rows))


def _facts(row: ParameterRow, optimizers: dict[int, OptimizerRecord], standing: Standing) -> tuple[str, ...]:
    return _shape(row), row.dtype, _device(row), _gradient(row), _optimizer(row, optimizers, standing), _state(row)


def _module(row: ParameterRow) -> str:
    """``h.0.attn.*`` for ``h.0.attn.weight``."""
    owner = row.name.rpartition(".")[0]
    return f"{owner}.*" if owner else row.name


def _rows(
    facts: list[tuple[ParameterRow, tuple[str, ...]]], name: Callable[[ParameterRow], str], order: Order
) -> list[tuple[str, ...]]:
    groups: dict[tuple[str, ...], list[ParameterRow]] = {}
    for row, cells in facts:
        groups.setdefault((NUMBER.sub("#", name(row)), *cells), []).append(row)
    sortable_rows = []
    for key, members in groups.items():
        pattern = pattern_of([name(row) for row in members])
        times = f"  ×{len(members)}" if len(members) > 1 else ""
        total = bytes_of(members)
        sortable_rows.append((-total.all if order == "bytes" else 0, (pattern + times, *key[1:], _bytes(total))))
    return [row for _, row in sorted(sortable_rows, key=lambda pair: pair[0])]


def _list(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape)) or "scalar"


def _shape(row: ParameterRow) -> str:
    """``5×3, 2×3 here`` of a DTensor."""
    here = "" if row.sharding is None else f", {_list(row.sharding.local_shape)} here"
    return _list(row.shape) + here


def _device(row: ParameterRow) -> str:
    """``cuda:0, Shard(dim=0) over 8`` of a DTensor."""
    if row.sharding is None:
        return row.device
    return f"{row.device}, {', '.join(row.sharding.placements)} over {_list(row.sharding.mesh)}"


def _gradient(row: ParameterRow) -> str:
    if not row.requires_grad:
        return "frozen"
    if row.gradient is None:
        return "reached" if row.reached else "none"
    gradient = row.gradient
    unlike = [
        value for value, expected in ((gradient.dtype, row.dtype), (gradient.device, row.device)) if value != expected
    ]
    return " ".join(["yes", *unlike])


def _optimizer(row: ParameterRow, optimizers: dict[int, OptimizerRecord], standing: Standing) -> str:
    optimizer = optimizers.get(row.optimizer)
    if optimizer is None:
        return "none"
    name = f"{optimizer.type}[{row.group}]" if len(optimizer.groups) > 1 and row.group >= 0 else optimizer.type
    return f"{name}, {standing}" if standing in {"orphan", "no state"} else name


def _state(row: ParameterRow) -> str:
    """Names of the state tensors; what sets one apart from its parameter stands behind it."""
    if row.stepped_by != HERE and not row.state:
        return f"on rank {row.stepped_by}" if row.stepped_by >= 0 else "on another rank"
    parts = []
    for entry in row.state:
        scalar = entry.shape == ()
        unlike = [
            value
            for value, expected in ((entry.dtype, row.dtype), (entry.device, row.device))
            if value != expected and not scalar
        ]
        if entry.shape not in ((), row.shape):
            unlike.append(_list(entry.shape))
        parts.append(f"{entry.name} ({', '.join(unlike)})" if unlike else entry.name)
    return ", ".join(parts)


def _bytes(total: Total) -> str:
    return f"{size(total.parameters)} + {size(total.state)}" if total.state else size(total.parameters)
