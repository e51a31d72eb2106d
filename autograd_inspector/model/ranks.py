"""One placement of several ranks: for each parameter, what each rank holds of it."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from autograd_inspector.model.finding import Finding
from autograd_inspector.model.totals import Total
from autograd_inspector.model.wording import agree


class Share(Struct, frozen=True, omit_defaults=True, gc=False):
    """What one rank holds of a parameter: bytes of its own elements there, not of the whole parameter.

    ``local_shape`` is that of the part which the rank holds, ``placements`` how a DTensor is spread (() for any other
    tensor). ``gradient`` is None where there is none. ``stepped_by`` is as in ParameterRow.
    """

    dtype: str
    device: str
    local_shape: tuple[int, ...]
    parameter: int
    gradient: int | None = None
    state: int = 0
    state_names: tuple[str, ...] = ()
    state_devices: tuple[str, ...] = ()
    requires_grad: bool = True
    placements: tuple[str, ...] = ()
    optimizer: str = ""
    group: int = -1
    stepped_by: int = -2


class Difference(Struct, frozen=True):
    """Something that should be the same on all ranks and is not: each value, and the ranks that have it."""

    what: str
    values: tuple[tuple[str, tuple[int, ...]], ...]

    def __str__(self) -> str:
        parts = [f"{value} on {ranks_text(ranks)}" for value, ranks in self.values]
        return f"{self.what}: {', '.join(parts)}"


class RankedRow(Struct, frozen=True, omit_defaults=True):
    """One parameter; ``shares`` has an entry for each of ``RankedPlacement.ranks``, None where that rank holds nothing.

    ``shape`` is the whole parameter's, ``optimizer`` and ``group`` those of the first rank that has it in one.
    """

    name: str
    model: str
    shape: tuple[int, ...]
    optimizer: str
    group: int
    shares: tuple[Share | None, ...]
    differences: tuple[Difference, ...] = ()


class RankedPlacement(Struct, frozen=True, omit_defaults=True):
    """The parameters of all ranks. ``ranks`` are the columns, in order; ``missing`` the ranks that reported nothing.

    ``totals`` has the bytes of each column, each storage counted once: with the padding that a shard has.
    """

    ranks: tuple[int, ...] = ()
    world_size: int = 0
    missing: tuple[int, ...] = ()
    rows: tuple[RankedRow, ...] = ()
    totals: tuple[Total, ...] = ()

    @property
    def whole(self) -> Total:
        """The bytes of all ranks together."""
        return Total(
            sum(total.parameters for total in self.totals),
            sum(total.gradients for total in self.totals),
            sum(total.state for total in self.totals),
        )

    @property
    def differing(self) -> tuple[RankedRow, ...]:
        """The rows in which ranks differ that should not."""
        return tuple(row for row in self.rows if row.differences)

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary a row, all with the same keys (``rank 0 device``); what a rank does not hold is None."""
        records = []
        for row in self.rows:
            record: dict[str, Any] = {
                "name": row.name,
                "model": row.model or None,
                "shape": row.shape,
                "optimizer": row.optimizer or None,
                "group": row.group if row.optimizer else None,
                "differences": "; ".join(map(str, row.differences)) or None,
            }
            for rank, share in zip(self.ranks, row.shares, strict=True):
                for key in ("device", "dtype", "local_shape", "parameter", "gradient", "state"):
                    record[f"rank {rank} {key}"] = getattr(share, key) if share is not None else None
            records.append(record)
        return records

    def to_dataframe(self) -> Any:
        """A pandas.DataFrame with one line a row; raises ImportError in one line when pandas is not installed."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError(
                "to_dataframe() needs pandas: pip install pandas (placement.records() does not)"
            ) from None
        return pd.DataFrame.from_records(self.records())


class RankedFinding(Struct, frozen=True):
    """A finding, and the ranks whose reports have it."""

    finding: Finding
    ranks: tuple[int, ...]


class Lane(Struct, frozen=True):
    """What some ranks did alike that concerns the others: (call and line, how often in a row), in order.

    ``ending``: what kept them from the end of the program ("waits in all_reduce train.py:3"), "" where nothing did.
    """

    ranks: tuple[int, ...]
    marks: tuple[tuple[str, int], ...] = ()
    ending: str = ""


def ranks_text(ranks: tuple[int, ...]) -> str:
    """``rank 3``, ``ranks 0–2, 5``."""
    runs: list[list[int]] = []
    for rank in sorted(ranks):
        if runs and rank == runs[-1][-1] + 1:
            runs[-1][1:] = [rank]
        else:
            runs.append([rank])
    texts = [str(run[0]) if len(run) == 1 else f"{run[0]}–{run[1]}" for run in runs]
    return f"{agree(ranks, 'rank', 'ranks')} {', '.join(texts)}"
