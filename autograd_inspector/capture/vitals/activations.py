"""What modules return and activation functions make: mean, deviation, zeros, saturation, dead units."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from autograd_inspector.capture.tensors.reading import plain
from autograd_inspector.capture.torch_private.dispatch import straight_to_kernels
from autograd_inspector.capture.vitals.functions import ACTIVATIONS, Activation
from autograd_inspector.capture.vitals.samples import sampled
from autograd_inspector.capture.vitals.table import UNMEASURED, Table
from autograd_inspector.capture.vitals.transfer import Reading

ENTRIES = 65_536
"""So many of a result tell its statistics; dead units are told by all of it."""
COLUMNS = 5
_UNITS = 65_536
"""Of more units dead ones are not counted."""
_POSITIONS = 8
"""A unit that is 0 for fewer inputs than these may well be 0 by chance."""
_ROWS = 4_096
"""A program that calls ever new modules has no more rows."""

Key = tuple[str, str, str, int]
"""(model, path in it, op or "", which call of that op in a call of the module)."""


@dataclass
class Row:
    """A module, or an activation function in one."""

    model: str
    path: str
    op: str
    nth: int
    type: str
    site: int = -1
    units: int = 0
    quiet: Tensor | None = None
    """On the device: the units that were 0 so far."""


class Activations:
    """A row a module or function, in the order of their first calls."""

    def __init__(self) -> None:
        self.table = Table(COLUMNS)
        self.rows: list[Row] = []
        self._numbers: dict[Key, int] = {}

    def measured(
        self, key: Key, type_: str, result: Tensor, *, function: str = "", site: int = -1
    ) -> Iterator[Reading]:
        """Measure a result."""
        values, number = plain(result), self._numbers.get(key)
        if values is None or not values.is_floating_point() or values.numel() < 2:  # noqa: PLR2004 - one: no deviation
            return
        if number is None and len(self.rows) >= _ROWS:
            return
        if number is None:
            number = self._numbers[key] = self.table.new_row()
            self.rows.append(Row(*key, type_))
        self.rows[number].site = site
        yield straight_to_kernels(self._reading, number, values, ACTIVATIONS.get(function))

    def settle(self) -> None:
        """The lines of an earlier capture are not known any more."""
        for row in self.rows:
            row.site = -1

    def end_step(self, step: int) -> None:
        """All that was measured in that step has been told."""
        self.table.end_step(step)

    def never(self, number: int) -> int:
        """How many units of a row were 0 in every call; waits for the device."""
        quiet = self.rows[number].quiet
        return 0 if quiet is None else int(straight_to_kernels(torch.count_nonzero, quiet))

    def _reading(self, number: int, values: Tensor, function: Activation | None) -> Reading:
        some = sampled(values, ENTRIES).float()
        variance, mean = torch.var_mean(some)
        scalars = [mean, variance, torch.count_nonzero(some)]
        saturates = function is not None and function.flat is not None
        if function is not None and function.flat is not None:
            scalars.append(function.flat(some))
        units = self._dead(number, values) if function is not None and function.dies else None
        if units is not None:
            scalars.append(torch.count_nonzero(units))
        return Reading(
            scalars, partial(self._told, number, some.numel(), saturates, 0 if units is None else units.numel())
        )

    def _dead(self, number: int, values: Tensor) -> Tensor | None:
        """Which units were 0 for the whole batch."""
        if values.dim() < 2:  # noqa: PLR2004
            return None
        # [N, C, H, W] is of channels; three dimensions are mostly [batch, time, features].
        units = values.movedim(1, -1) if values.dim() > 3 else values  # noqa: PLR2004
        count = units.shape[-1]
        if count > _UNITS or not count or units.numel() // count < _POSITIONS:
            return None
        dead = ~units.reshape(-1, count).any(0)
        row = self.rows[number]
        if row.quiet is None or row.quiet.shape != dead.shape or row.quiet.device != dead.device:
            row.quiet = dead
        else:
            row.quiet = row.quiet & dead
        row.units = count
        return dead

    def _told(self, number: int, count: int, saturates: bool, units: int, numbers: list[float]) -> None:  # noqa: FBT001
        mean, variance, nonzeros, *rest = numbers
        saturated = rest.pop(0) / count if saturates else UNMEASURED
        dead = rest.pop(0) / units if units else UNMEASURED
        deviation = math.sqrt(variance) if variance >= 0 else variance
        self.table.put(number, 0, (mean, deviation, 1 - nonzeros / count, saturated, dead))
