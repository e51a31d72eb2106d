"""Where parameters, gradients and optimizer state live."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from autograd_inspector.model.totals import Totals

Standing = Literal["optimized", "frozen", "orphan", "not optimized", "no state"]
"""``orphan``: an optimizer holds it, no model has it. ``not optimized``: it requires grad, no optimizer holds it.
``no state``: others of its optimizer have state, it has none."""


HERE = -2
"""``ParameterRow.stepped_by`` of a parameter that this rank steps (-1: another rank does, which is not said)."""


class Sharding(Struct, frozen=True, omit_defaults=True, gc=False):
    """How a DTensor is spread: one placement ("Shard(dim=0)") a mesh dimension, and the part that this rank holds."""

    placements: tuple[str, ...]
    mesh: tuple[int, ...]
    local_shape: tuple[int, ...]
    local_nbytes: int
    mesh_names: tuple[str, ...] = ()


class Held(Struct, frozen=True, omit_defaults=True, gc=False):
    """A tensor that takes memory.

    ``nbytes`` are its own elements' bytes (of a DTensor all ranks' together); ``storage`` numbers the memory behind it
    (-1: sparse, or none) and ``allocated`` is that memory's size in bytes on this rank, which others may share.
    """

    shape: tuple[int, ...]
    dtype: str
    device: str
    nbytes: int
    storage: int = -1
    allocated: int = 0
    sharding: Sharding | None = None


class StateEntry(Held, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """One tensor of an optimizer's state for one parameter (``tensor``: its id, -1 when no op made it).

    ``name`` is what the program writes behind ``state[p]``: ``exp_avg``, ``factors["left"][0]``, ``cache.matrix``.
    ``holder`` is the class of the object that has it as an attribute, "" of what only dictionaries and lists hold.
    """

    name: str
    tensor: int = -1
    holder: str = ""

    @property
    def key(self) -> str:
        """The innermost key or attribute on the way to it."""
        return innermost(self.name)


_PART = re.compile(r"""\["([^"]*)"\]|\['([^']*)'\]|(?:^|\.)([^.\["']+)""")


def innermost(name: str) -> str:
    """``left`` of ``factors["left"][0]``."""
    parts = _PART.findall(name)
    return "".join(parts[-1]) if parts else name


class Gradient(Held, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """The ``.grad`` that a parameter had when the placement was read, and its version counter."""

    version: int


class ParameterRow(Held, frozen=True, omit_defaults=True, kw_only=True):
    """One parameter: ``optimizer`` and ``group`` are -1 when no optimizer holds it, ``model`` "" when no model does.

    ``group`` alone is -1 of a parameter whose state the optimizer keeps although no group holds it.

    ``name`` is the first of its fully qualified ``names`` (several when tied), else the program's variable.
    """

    tensor: int
    name: str = ""
    names: tuple[str, ...] = ()
    model: str = ""
    requires_grad: bool
    reached: bool = False
    gradient: Gradient | None = None
    optimizer: int = -1
    group: int = -1
    state: tuple[StateEntry, ...] = ()
    stepped_by: int = HERE
    """The rank that steps the parameter and keeps its state, where an optimizer deals whole parameters out to ranks."""


class OptimizerRecord(Struct, frozen=True, omit_defaults=True):
    """An optimizer seen in the capture; ``groups`` are its hyper-parameters, one dict a group, as text.

    ``site`` is where it was made (-1: before the capture), ``created_at`` the op index then.
    """

    id: int
    type: str
    module: str
    groups: tuple[dict[str, str], ...] = ()
    parameters: tuple[tuple[int, ...], ...] = ()
    site: int = -1
    created_at: int = -1
    steps: int = 0

    @property
    def held(self) -> tuple[int, ...]:
        """The parameters of all groups, in their order; one that stands in two groups stands here twice."""
        return tuple(tensor for group in self.parameters for tensor in group)


class Placement(Struct, frozen=True, omit_defaults=True, dict=True):
    """One row a parameter and optimizer that holds it, and the optimizers they belong to."""

    rows: tuple[ParameterRow, ...] = ()
    optimizers: tuple[OptimizerRecord, ...] = ()

    @cached_property
    def totals(self) -> Totals:
        """Bytes by kind, device, dtype, parameter group and module subtree, each storage counted once."""
        from autograd_inspector.model.totals import Totals

        return Totals(self)

    @cached_property
    def rows_of(self) -> dict[int, list[ParameterRow]]:
        """Optimizer -> its rows, also those of state whose parameter it does not hold."""
        found: dict[int, list[ParameterRow]] = {}
        for row in self.rows:
            found.setdefault(row.optimizer, []).append(row)
        return found

    def standing(self, row: ParameterRow) -> Standing:
        """What a row is to models and optimizers."""
        if row.optimizer >= 0 and (row.group < 0 or (not row.model and self._has_models)):
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
        from autograd_inspector.model.records import records_of

        return records_of(self)

    def to_dataframe(self) -> Any:
        """A pandas.DataFrame with one line a row; raises ImportError in one line when pandas is not installed."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError(
                "to_dataframe() needs pandas: pip install pandas (placement.records() does not)"
            ) from None
        return pd.DataFrame.from_records(self.records())
