"""Placements of several ranks -> one: rows matched by what they are called, never by their order.

Ranks that hold the same rows in optimizers of the same types are matched once, and a row that ranks share is read once:
the work grows with what differs, not with the ranks.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from msgspec import Struct

from autograd_inspector.analysis.row_differences import Alike, Differences, Holders, optimizer_type
from autograd_inspector.model.placement import Placement
from autograd_inspector.model.placement_rows import Held, ParameterRow
from autograd_inspector.model.ranks import RankedPlacement, RankedRow, Share
from autograd_inspector.model.totals import Total

Key = tuple[str, bool, str]
"""(model, whether a model has it, name)."""
Slot = dict[int, ParameterRow]
"""Number of a kind of rank -> its row."""


class _Kind(Struct, frozen=True):
    """``ranks`` that hold the same rows in optimizers of the same types; ``placement`` is the first one's."""

    placement: Placement
    ranks: list[int]


def placement_of_ranks(
    placements: Mapping[int, Placement | None], totals: Mapping[int, Total] | None = None
) -> RankedPlacement:
    """One placement of those of some ranks; None stands for a rank that reported nothing.

    A row of one rank is a row of another's when model and name agree; of several such rows (a parameter in two
    optimizers) those of the same optimizer and group. Where each rank has one model, its name does not matter: it is a
    variable of the program, and programs of ranks may differ. ``totals``: the bytes of ranks that counted their own.
    """
    by_rank = {rank: placements[rank] for rank in sorted(placements)}
    held = {rank: placement for rank, placement in by_rank.items() if placement is not None}
    ranks = tuple(held)
    rows = _Rows(held)
    counted = totals or {}
    return RankedPlacement(
        ranks,
        len(by_rank),
        tuple(rank for rank, placement in by_rank.items() if placement is None),
        tuple(rows.made()),
        tuple(counted.get(rank) or _total(held[rank]) for rank in ranks),
    )


def _total(placement: Placement) -> Total:
    return placement.totals.whole if placement.rows else Total()


class _Rows:
    def __init__(self, held: Mapping[int, Placement]) -> None:
        self.held = held
        kinds: dict[tuple[int, tuple[tuple[int, str], ...]], _Kind] = {}
        for rank, placement in held.items():
            types = tuple((record.id, record.type) for record in placement.optimizers)
            kinds.setdefault((id(placement.rows), types), _Kind(placement, [])).ranks.append(rank)
        self.kinds = tuple(kinds.values())
        self.slots = self._matched()
        self._shares: dict[tuple[int, str], Share] = {}
        self._differences = Differences(held, self._alike())

    def made(self) -> list[RankedRow]:
        return [self._row(slot) for slot in self.slots]

    def _alike(self) -> Alike:
        kind_of = {rank: number for number, kind in enumerate(self.kinds) for rank in kind.ranks}

        @cache
        def present(kind: int) -> set[int]:
            return {number for number, slot in enumerate(self.slots) if kind in slot}

        @cache
        def alike(kind: int, holder: int) -> bool:
            return 2 * len(present(kind) & present(holder)) >= len(present(holder))

        return lambda rank, holder: alike(kind_of[rank], kind_of[holder])

    def _matched(self) -> list[Slot]:
        """Rows that are one parameter's, in the order in which the ranks have them."""
        several = any(len({row.model for row in kind.placement.rows if row.model}) > 1 for kind in self.kinds)
        slots: dict[Key, list[Slot]] = {}
        for number, kind in enumerate(self.kinds):
            for row in kind.placement.rows:
                # By its name in the model, for the one that findings use begins with the variable that holds the model.
                name = row.names[0] if row.names else row.name
                key = (row.model if several else "", bool(row.model), name)
                self._fit(slots.setdefault(key, []), number, row)
        return [slot for same in slots.values() for slot in same]

    def _fit(self, slots: list[Slot], kind: int, row: ParameterRow) -> None:
        """Put a row where other ranks have the same optimizer and group, else wherever this one has none yet."""
        free = [slot for slot in slots if kind not in slot]
        if len(free) <= 1:
            (free[0] if free else _added(slots))[kind] = row
            return
        optimizer_and_group = (optimizer_type(self.kinds[kind].placement, row), row.group)

        def likeness(slot: Slot) -> int:
            other, like = next(iter(slot.items()))
            theirs = (optimizer_type(self.kinds[other].placement, like), like.group)
            return 2 * (theirs == optimizer_and_group) + (theirs[0] == optimizer_and_group[0])

        max(free, key=likeness)[kind] = row

    def _row(self, slot: Slot) -> RankedRow:
        holders: dict[tuple[int, str], Holders] = {}
        for number, row in slot.items():
            kind = self.kinds[number]
            optimizer = optimizer_type(kind.placement, row)
            ranks = holders.setdefault((id(row), optimizer), Holders(row, self._share(row, optimizer), [])).ranks
            ranks += kind.ranks
        groups = sorted(holders.values(), key=lambda each: min(each.ranks))
        by_rank = {rank: group.share for group in groups for rank in group.ranks}
        first = groups[0].row
        stepped = next((group.share for group in groups if group.share.optimizer), None)
        return RankedRow(
            first.name,
            first.model,
            first.shape,
            stepped.optimizer if stepped is not None else "",
            stepped.group if stepped is not None else -1,
            tuple(map(by_rank.get, self.held)),
            self._differences.of(groups),
        )

    def _share(self, row: ParameterRow, optimizer: str) -> Share:
        key = (id(row), optimizer)
        if key not in self._shares:
            self._shares[key] = _share(row, optimizer)
        return self._shares[key]


def _added(slots: list[Slot]) -> Slot:
    slots.append({})
    return slots[-1]


def _share(row: ParameterRow, optimizer: str) -> Share:
    return Share(
        row.dtype,
        row.device,
        row.shape if row.sharding is None else row.sharding.local_shape,
        _local(row),
        None if row.gradient is None else _local(row.gradient),
        sum(map(_local, row.state)),
        tuple(entry.name for entry in row.state),
        tuple(dict.fromkeys(entry.device for entry in row.state if entry.shape)),
        row.requires_grad,
        () if row.sharding is None else row.sharding.placements,
        optimizer,
        row.group,
        row.stepped_by,
    )


def _local(held: Held) -> int:
    return held.nbytes if held.sharding is None else held.sharding.local_nbytes
