"""State that an optimizer keeps for several parameters in one tensor, which its step() writes for each of them."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.placement_rows import ParameterRow, StateEntry

_MORE_THAN_AN_AVERAGE = 3
"""A moving average is written twice."""


class SharedState(Struct, frozen=True):
    """The state ``key`` of these parameters (tensors) of one optimizer lies in one memory."""

    optimizer: int
    key: str
    tensors: tuple[int, ...]


def shared_state(analysis: Analysis) -> Iterator[SharedState]:
    """Each such memory that a step writes in place at least once for each parameter.

    A counter is no statistic, and parts of one buffer are memory of their own: only whole tensors of several elements
    count. What is never written is meant for all: a basis, a rotation, a mask. So is a factor that a weight shares with
    its bias, which is decayed and added to once. How often a step writes is not known of an optimizer that was made, and
    may have stepped, before.
    """
    placement = analysis.capture.placement
    owners: dict[tuple[int, int, str], list[int]] = {}
    written: dict[int, int] = {}
    for row in placement.rows:
        if row.optimizer < 0 or placement.optimizers[row.optimizer].site < 0:
            continue
        for entry in row.state:
            if _whole(row, entry):
                owners.setdefault((row.optimizer, entry.storage, entry.key), []).append(row.tensor)
                written[entry.storage] = entry.written
    for (optimizer, storage, key), tensors in owners.items():
        if len(tensors) > 1 and written[storage] >= max(len(tensors), _MORE_THAN_AN_AVERAGE):
            yield SharedState(optimizer, key, tuple(tensors))


def _whole(row: ParameterRow, entry: StateEntry) -> bool:
    """Whether the entry has memory of its own that holds several elements, and no gradient, which is told elsewhere."""
    mine = entry.storage >= 0 and entry.nbytes == entry.allocated and prod(entry.shape) > 1
    return mine and (row.gradient is None or row.gradient.storage != entry.storage)
