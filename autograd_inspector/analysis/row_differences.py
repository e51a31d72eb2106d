"""In what ranks differ that hold one parameter, and should not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct

from autograd_inspector.model.placement import Placement
from autograd_inspector.model.placement_rows import HERE, ParameterRow
from autograd_inspector.model.ranks import Difference, Share
from autograd_inspector.model.settings import setting_text

Alike = Callable[[int, int], bool]
"""Whether a rank has most of what another has: a replica that lacks something, no other pipeline stage."""
Values = Iterable[tuple[str, Iterable[int]]]
"""Values, and the ranks that have them."""


class Holders(NamedTuple):
    """The ``ranks`` that hold the same row of a parameter, in an optimizer of the same type."""

    row: ParameterRow
    share: Share
    ranks: list[int]


class _Settings(Struct, frozen=True):
    """Where the settings of a parameter stand: of which optimizer and group, on these ranks."""

    optimizer: int
    group: int
    ranks: tuple[int, ...]


_COMPARED: tuple[tuple[str, Callable[[Holders], str]], ...] = (
    ("shape", lambda held: "×".join(map(str, held.row.shape)) or "scalar"),
    ("dtype", lambda held: held.share.dtype),
    ("device", lambda held: _kind(held.share.device)),
    ("requires_grad", lambda held: str(held.share.requires_grad)),
    ("placements", lambda held: ", ".join(held.share.placements) or "not a DTensor"),
    ("optimizer", lambda held: held.share.optimizer or "none"),
)


class Differences:
    """``held``: the placement of each rank."""

    def __init__(self, held: Mapping[int, Placement], alike: Alike) -> None:
        self._held = held
        self._alike = alike
        self._of_settings: dict[tuple[_Settings, ...], tuple[Difference, ...]] = {}

    def of(self, groups: list[Holders]) -> tuple[Difference, ...]:
        """All of one parameter, those that it lacks on some rank last."""
        in_optimizer = [group for group in groups if group.row.optimizer >= 0]
        settings = tuple(_Settings(held.row.optimizer, held.row.group, tuple(held.ranks)) for held in in_optimizer)
        if settings not in self._of_settings:  # All parameters of a group have the same.
            self._of_settings[settings] = tuple(self._settings(settings))
        return (
            *(self._rows(groups, in_optimizer) if len(groups) > 1 else ()),
            *self._of_settings[settings],
            *self._absent(groups),
        )

    def _rows(self, groups: list[Holders], in_optimizer: list[Holders]) -> Iterator[Difference]:
        for what, read in _COMPARED:
            yield from _difference(what, ((read(group), group.ranks) for group in groups))
        yield from _difference("group", ((str(group.row.group), group.ranks) for group in in_optimizer))
        states = [(_state(group.row), group.ranks) for group in in_optimizer if group.row.stepped_by == HERE]
        for name in dict.fromkeys(name for state, _ in states for name in state):
            yield from _difference(f"state {name}", ((state.get(name, "none"), ranks) for state, ranks in states))

    def _settings(self, where: tuple[_Settings, ...]) -> Iterator[Difference]:
        found: dict[int, tuple[dict[str, str], list[int]]] = {}
        for each in where:
            for rank in each.ranks:
                optimizers = self._held[rank].optimizers
                groups = next((record.groups for record in optimizers if record.id == each.optimizer), ())
                settings = groups[each.group] if 0 <= each.group < len(groups) else {}
                # Ranks that told the same share their settings.
                key = id(settings) if settings else 0
                if key not in found:
                    found[key] = {name: setting_text(value) for name, value in settings.items()}, []
                found[key][1].append(rank)
        told = sorted(found.values(), key=lambda pair: pair[1][0])
        for name in dict.fromkeys(name for texts, _ in told for name in texts):
            yield from _difference(name, ((texts.get(name, "not set"), ranks) for texts, ranks in told))

    def _absent(self, groups: list[Holders]) -> Iterator[Difference]:
        having = {rank for group in groups for rank in group.ranks}
        first = min(having)
        absent = tuple(rank for rank in self._held if rank not in having and self._alike(rank, first))
        if absent:
            yield Difference("held", (("yes", tuple(sorted(having))), ("no", absent)))


def optimizer_type(placement: Placement, row: ParameterRow) -> str:
    """The class of the optimizer that holds a row, "" where none does."""
    if row.optimizer < 0:
        return ""
    return next((record.type for record in placement.optimizers if record.id == row.optimizer), "")


def _difference(what: str, values: Values) -> Iterator[Difference]:
    """One where the values are not all equal; what most ranks have comes first."""
    ranks: dict[str, list[int]] = {}
    for value, holders in values:
        ranks.setdefault(value, []).extend(holders)
    if len(ranks) > 1:
        ordered = sorted(((value, tuple(sorted(holders))) for value, holders in ranks.items()), key=_most_first)
        yield Difference(what, tuple(ordered))


def _most_first(held: tuple[str, tuple[int, ...]]) -> tuple[int, int]:
    return -len(held[1]), held[1][0]


def _state(row: ParameterRow) -> dict[str, str]:
    """Dtype and kind of device of each state."""
    return {entry.name: f"{entry.dtype} {_kind(entry.device)}" for entry in row.state}


def _kind(device: str) -> str:
    """``cuda`` of ``cuda:1``: each rank has a device of its own, but of the same kind."""
    return device.partition(":")[0]
