"""Where parameters, gradients and optimizer state live."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, Literal

from msgspec import Struct

from autograd_inspector.model.placement_rows import HERE, OptimizerRecord, ParameterRow
from autograd_inspector.model.placement_table import Columns
from autograd_inspector.model.totals import Totals

Standing = Literal["optimized", "frozen", "orphan", "not optimized", "no state"]
"""``orphan``: an optimizer holds it, no model has it, and no backward since its last step but one reached it.
``not optimized``: it requires grad, no optimizer holds it. ``no state``: others of its optimizer have state."""


class Placement(Struct, frozen=True, omit_defaults=True, dict=True):
    """One row a parameter and optimizer that holds it, and the optimizers they belong to."""

    rows: tuple[ParameterRow, ...] = ()
    optimizers: tuple[OptimizerRecord, ...] = ()

    @cached_property
    def totals(self) -> Totals:
        """Bytes by kind, device, dtype, parameter group and module subtree, each storage counted once."""
        return Totals(self.rows, self.optimizers)

    @cached_property
    def rows_of(self) -> dict[int, list[ParameterRow]]:
        """Optimizer -> its rows, also those of state whose parameter it does not hold."""
        rows_of_optimizer: dict[int, list[ParameterRow]] = {}
        for row in self.rows:
            rows_of_optimizer.setdefault(row.optimizer, []).append(row)
        return rows_of_optimizer

    def holding(self, tensors: Iterable[int]) -> list[OptimizerRecord]:
        """The optimizers that hold some of the tensors."""
        wanted = set(tensors)
        return [optimizer for optimizer in self.optimizers if not wanted.isdisjoint(optimizer.held)]

    def standing(self, row: ParameterRow) -> Standing:
        """What a row is to models and optimizers."""
        if row.optimizer >= 0 and (row.group < 0 or (not row.model and not row.bare and self._has_models)):
            return "orphan"
        if not row.requires_grad:
            return "frozen"
        if row.optimizer < 0:
            return "not optimized" if self.optimizers else "optimized"
        bare = not row.state and row.stepped_by == HERE
        return "no state" if bare and row.optimizer in self._with_state else "optimized"

    @cached_property
    def _has_models(self) -> bool:
        return any(row.model for row in self.rows)

    @cached_property
    def _with_state(self) -> frozenset[int]:
        """Optimizers that keep state for each element of some parameter; LBFGS keeps all its state with the first."""
        spread: dict[int, int] = {}
        for row in self.rows:
            spread[row.optimizer] = spread.get(row.optimizer, 0) + bool(row.state)
        return frozenset(optimizer for optimizer, rows in spread.items() if optimizer >= 0 and rows > 1)

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary a row: what a table, a data frame or a spreadsheet shows."""
        columns = Columns(self.rows, self.optimizers)
        return [columns.record(row, self.standing(row)) for row in self.rows]

    def to_dataframe(self) -> Any:
        """A pandas.DataFrame with one line a row; raises ImportError in one line when pandas is not installed."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError(
                "to_dataframe() needs pandas: pip install pandas (placement.records() does not)"
            ) from None
        return pd.DataFrame.from_records(self.records())
