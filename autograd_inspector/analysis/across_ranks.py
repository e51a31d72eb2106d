"""Placements of several ranks -> one: rows matched by what they are called, never by their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from autograd_inspector.model.placement import Placement
from autograd_inspector.model.placement_rows import HERE, Held, ParameterRow
from autograd_inspector.model.ranks import Difference, RankedPlacement, RankedRow, Share
from autograd_inspector.model.settings import setting_text
from autograd_inspector.model.totals import Total

Key = tuple[str, bool, str]
"""(model, whether a model has it, name)."""
Slot = dict[int, ParameterRow]
"""Rank -> its row."""
Alike = Callable[[int, int], bool]


def placement_of_ranks(placements: Mapping[int, Placement | None]) -> RankedPlacement:
    """One placement of those of some ranks; None stands for a rank that reported nothing.

    A row of one rank is a row of another's when model and name agree; of several such rows (a parameter in two
    optimizers) those of the same optimizer and group. Where each rank has one model, its name does not matter: it is a
    variable of the program, and programs of ranks may differ.
    """
    by_rank = {rank: placements[rank] for rank in sorted(placements)}
    held = {rank: placement for rank, placement in by_rank.items() if placement is not None}
    slots = _matched(held)
    ranks = tuple(held)
    present = {rank: {number for number, slot in enumerate(slots) if rank in slot} for rank in ranks}

    @cache
    def alike(rank: int, holder: int) -> bool:
        """Whether a rank has most of what another has: a replica that lacks something, no other pipeline stage."""
        return 2 * len(present[rank] & present[holder]) >= len(present[holder])

    return RankedPlacement(
        ranks,
        len(by_rank),
        tuple(rank for rank, placement in by_rank.items() if placement is None),
        tuple(_row(slot, held, alike) for slot in slots),
        tuple(held[rank].totals.whole if held[rank].rows else Total() for rank in ranks),
    )


def _matched(held: Mapping[int, Placement]) -> list[Slot]:
    """Rows that are one parameter's, in the order in which the ranks have them."""
    several = any(len({row.model for row in placement.rows if row.model}) > 1 for placement in held.values())
    slots: dict[Key, list[Slot]] = {}
    for rank, placement in held.items():
        for row in placement.rows:
            # By its name in the model, for the one that findings use begins with the variable that holds the model.
            name = row.names[0] if row.names else row.name
            key = (row.model if several else "", bool(row.model), name)
            _fit(slots.setdefault(key, []), rank, row, held)
    return [slot for same in slots.values() for slot in same]


def _fit(slots: list[Slot], rank: int, row: ParameterRow, held: Mapping[int, Placement]) -> None:
    """Put a row where other ranks have the same optimizer and group, else wherever this rank has none yet."""
    free = [slot for slot in slots if rank not in slot]
    if not free:
        slots.append({rank: row})
        return
    optimizer_and_group = (_optimizer(held[rank], row), row.group)

    def likeness(slot: Slot) -> int:
        other, like = next(iter(slot.items()))
        theirs = (_optimizer(held[other], like), like.group)
        return 2 * (theirs == optimizer_and_group) + (theirs[0] == optimizer_and_group[0])

    max(free, key=likeness)[rank] = row


def _row(slot: Slot, held: Mapping[int, Placement], alike: Alike) -> RankedRow:
    made: dict[int, Share] = {}  # Ranks that told the same share their rows.
    for rank, row in slot.items():
        if id(row) not in made:
            made[id(row)] = _share(held[rank], row)
    shares = {rank: made[id(row)] for rank, row in slot.items()}
    first = next(iter(slot.values()))
    stepped = next((share for share in shares.values() if share.optimizer), None)
    return RankedRow(
        first.name,
        first.model,
        first.shape,
        stepped.optimizer if stepped is not None else "",
        stepped.group if stepped is not None else -1,
        tuple(shares.get(rank) for rank in held),
        tuple(_differences(slot, shares, held, alike)),
    )


def _share(placement: Placement, row: ParameterRow) -> Share:
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
        _optimizer(placement, row),
        row.group,
        row.stepped_by,
    )


def _local(held: Held) -> int:
    return held.nbytes if held.sharding is None else held.sharding.local_nbytes


def _optimizer(placement: Placement, row: ParameterRow) -> str:
    return next((record.type for record in placement.optimizers if record.id == row.optimizer), "")


def _kind(device: str) -> str:
    """``cuda`` of ``cuda:1``: each rank has a device of its own, but of the same kind."""
    return device.partition(":")[0]


def _differences(
    slot: Slot, shares: dict[int, Share], held: Mapping[int, Placement], alike: Alike
) -> Iterable[Difference]:
    compared: tuple[tuple[str, Callable[[int], Any]], ...] = (
        ("shape", lambda rank: "×".join(map(str, slot[rank].shape)) or "scalar"),
        ("dtype", lambda rank: shares[rank].dtype),
        ("device", lambda rank: _kind(shares[rank].device)),
        ("requires_grad", lambda rank: shares[rank].requires_grad),
        ("placements", lambda rank: ", ".join(shares[rank].placements) or "not a DTensor"),
        ("optimizer", lambda rank: shares[rank].optimizer or "none"),
    )
    first = next(iter(slot.values()))
    absent = _absent(set(slot), slot, held, alike)
    if all(row is first for row in slot.values()) and len({id(held[rank]) for rank in slot}) == 1:
        slot = dict(list(slot.items())[:1])  # Ranks that told the same differ in nothing.
    for what, read in compared:
        yield from _difference(what, {rank: str(read(rank)) for rank in slot})
    held_by = {rank: row for rank, row in slot.items() if row.optimizer >= 0}
    yield from _difference("group", {rank: str(row.group) for rank, row in held_by.items()})
    states = _states(held_by)
    for name in dict.fromkeys(name for state in states.values() for name in state):
        yield from _difference(f"state {name}", {rank: state.get(name, "none") for rank, state in states.items()})
    settings = {rank: _settings(held[rank], row) for rank, row in held_by.items()}
    for name in dict.fromkeys(name for group_settings in settings.values() for name in group_settings):
        yield from _difference(
            name, {rank: group_settings.get(name, "not set") for rank, group_settings in settings.items()}
        )
    yield from absent


def _absent(having: set[int], slot: Slot, held: Mapping[int, Placement], alike: Alike) -> tuple[Difference, ...]:
    absent = tuple(rank for rank in held if rank not in having and alike(rank, next(iter(slot))))
    return (Difference("held", (("yes", tuple(sorted(having))), ("no", absent))),) if absent else ()


def _difference(what: str, values: dict[int, str]) -> Iterable[Difference]:
    """One where the values are not all equal; what most ranks have comes first."""
    ranks: dict[str, list[int]] = {}
    for rank, value in values.items():
        ranks.setdefault(value, []).append(rank)
    if len(ranks) > 1:
        ordered = sorted(ranks.items(), key=lambda pair: -len(pair[1]))
        yield Difference(what, tuple((value, tuple(holders)) for value, holders in ordered))


def _states(slot: Slot) -> dict[int, dict[str, str]]:
    """Dtype and kind of device of each state, on the ranks that are to have it."""
    return {
        rank: {entry.name: f"{entry.dtype} {_kind(entry.device)}" for entry in row.state}
        for rank, row in slot.items()
        if row.stepped_by == HERE
    }


def _settings(placement: Placement, row: ParameterRow) -> dict[str, str]:
    """The hyper-parameters of the row's group."""
    groups = next((record.groups for record in placement.optimizers if record.id == row.optimizer), ())
    settings = groups[row.group] if 0 <= row.group < len(groups) else {}
    return {name: setting_text(value) for name, value in settings.items()}
