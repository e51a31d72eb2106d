"""Parameters: their gradients when an optimizer steps, and how far the step moves them."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from autograd_inspector.capture.tensors.attributes import gradient_of, is_leaf, shape_of
from autograd_inspector.capture.tensors.reading import is_continuous, plain
from autograd_inspector.capture.torch_private.dispatch import straight_to_kernels
from autograd_inspector.capture.torch_private.distributed import local_of
from autograd_inspector.capture.torch_private.vitals import norms
from autograd_inspector.capture.vitals.directions import Directions
from autograd_inspector.capture.vitals.samples import real, sampled
from autograd_inspector.capture.vitals.table import UNMEASURED, Table
from autograd_inspector.capture.vitals.transfer import Reading

ENTRIES = 65_536
"""Of a gradient, so many tell the share of zeros; norms are of all."""
COPIED = 8_192
"""Of a parameter, so many are copied before a step: they tell how far it moved."""
GRADIENT, WEIGHT, UPDATE, COSINE = 0, 3, 4, 5
COLUMNS = 6


@dataclass
class Row:
    """A parameter that was stepped."""

    ref: weakref.ref[Tensor]
    name: str
    tensor: int
    """In the present capture, -1 where it does not know the parameter."""
    numel: int
    part: bool
    matrix: bool
    """It has two dimensions at least."""
    held: int = 0
    """Entries on this rank."""
    nonfinite: int = 0
    first_nonfinite: int = -1


class Moving(NamedTuple):
    """A parameter inside its step, and some of its entries before it."""

    row: int
    parameter: Tensor
    before: Tensor
    norm: Tensor


class Weights:
    """A row a parameter, in the order in which they were first stepped."""

    def __init__(self) -> None:
        self.name_of: Callable[[int], str] = lambda _: ""
        """What the present capture calls a tensor."""
        self.table = Table(COLUMNS)
        self.directions = Directions()
        self.rows: list[Row] = []
        self._numbers: dict[int, int] = {}
        """Python's id of a parameter -> its row, as long as that is the one that the row is about."""
        self._nonfinite: list[int] = []
        """Rows whose gradient was not finite in the present step."""

    def known(self, parameter: Tensor) -> bool:
        """Whether it has a row."""
        number = self._numbers.get(id(parameter))
        return number is not None and self.rows[number].ref() is parameter

    def gradients(self, parameters: Iterable[tuple[int, Tensor]]) -> Iterator[Reading]:
        """Measure the gradients of those of the (tensor, parameter) that have one, and the parameters themselves."""
        found = []
        for tensor, parameter in parameters:
            gradient = gradient_of(parameter) if is_leaf(parameter) else None
            values = None if gradient is None else plain(gradient)
            weights = None if values is None else plain(parameter)
            if values is not None and weights is not None and values.numel() and is_continuous(values.dtype):
                found.append((self._row(tensor, parameter), values, weights))
                self.rows[found[-1][0]].held = weights.numel()
        if found:
            yield from straight_to_kernels(self._measured, found)

    def moving(self, parameters: Iterable[Tensor]) -> list[Moving]:
        """Copy some entries of those that have a row, before their step."""
        rows = [(self._numbers[id(p)], p, plain(p)) for p in parameters if self.known(p) and gradient_of(p) is not None]
        return straight_to_kernels(_copied, [(row, p, values) for row, p, values in rows if values is not None])

    def moved(self, moving: Sequence[Moving]) -> Iterator[Reading]:
        """Measure how far a step moved them."""
        now = [(m, plain(m.parameter)) for m in moving]
        yield from straight_to_kernels(self._updates, [(m, values) for m, values in now if values is not None])

    def stepped(self) -> None:
        """What is measured from now on is of the next step."""
        self.directions.stepped()

    def settle(self, tensors: Mapping[int, int]) -> None:
        """The capture's tensors have other numbers now."""
        for row in self.rows:
            row.tensor = tensors.get(row.tensor, -1)

    def end_step(self, step: int) -> None:
        """All that was measured in that step has been told."""
        for number in set(self._nonfinite):
            row = self.rows[number]
            row.nonfinite += 1
            row.first_nonfinite = row.first_nonfinite if row.first_nonfinite >= 0 else step
        self._nonfinite.clear()
        self.table.end_step(step)

    def _row(self, tensor: int, parameter: Tensor) -> int:
        if self.known(parameter):
            number = self._numbers[id(parameter)]
        else:
            number = self._numbers[id(parameter)] = self.table.new_row()
            part, shape = local_of(parameter) is not None, shape_of(parameter)
            self.rows.append(Row(weakref.ref(parameter), "", -1, math.prod(shape), part, matrix=len(shape) > 1))
        row = self.rows[number]
        if row.tensor != tensor:
            row.tensor, row.name = tensor, self.name_of(tensor) or row.name
        return number

    def _measured(self, found: list[tuple[int, Tensor, Tensor]]) -> list[Reading]:
        gradients = [real(gradient) for _, gradient, _ in found]
        euclidean, weights = norms(gradients), norms([real(weight) for _, _, weight in found])
        readings = []
        for place, (row, _, _) in enumerate(found):
            some = sampled(gradients[place], ENTRIES)
            # Not the norm of order infinity, whose kernel on a CPU takes six times as long.
            ends = torch.aminmax(gradients[place])
            scalars = (euclidean[place], *ends, torch.count_nonzero(some), weights[place])
            readings.append(Reading(scalars, partial(self._told, row, some.numel())))
        weights_alone = ((row, gradient) for row, gradient, _ in found if self.rows[row].matrix)
        for row, cosine in self.directions.turned(weights_alone):
            readings.append(Reading((cosine,), partial(self.table.put, row, COSINE)))
        return readings

    def _told(self, row: int, count: int, numbers: list[float]) -> None:
        gradient, lowest, highest, nonzeros, weight = numbers
        self.table.put(row, GRADIENT, (gradient, max(-lowest, highest), 1 - nonzeros / count, weight))
        if not math.isfinite(lowest + highest):
            self._nonfinite.append(row)

    def _updates(self, now: list[tuple[Moving, Tensor]]) -> list[Reading]:
        pairs = [(m, sampled(values, COPIED)) for m, values in now]
        pairs = [(m, some) for m, some in pairs if some.shape == m.before.shape and some.device == m.before.device]
        changes = norms([some.to(m.before.dtype) - m.before for m, some in pairs])
        return [
            Reading((change, m.norm), partial(self._updated, m.row))
            for change, (m, _) in zip(changes, pairs, strict=True)
        ]

    def _updated(self, row: int, numbers: list[float]) -> None:
        change, norm = numbers
        self.table.put(row, UPDATE, (change / norm if norm else UNMEASURED,))


def _copied(rows: list[tuple[int, Tensor, Tensor]]) -> list[Moving]:
    copies = [_wide(sampled(values, COPIED)) for _, _, values in rows]
    return [
        Moving(row, parameter, copy, norm)
        for (row, parameter, _), copy, norm in zip(rows, copies, norms(copies), strict=True)
    ]


def _wide(values: Tensor) -> Tensor:
    """A copy in which a small change does not vanish: of half precision in float32."""
    wide = torch.promote_types(values.dtype, torch.float32)
    return values.to(wide, copy=True)
