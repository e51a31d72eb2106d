"""Bytes of a placement, added up: each storage once, however many tensors share it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from functools import cached_property
from itertools import islice
from typing import Literal

from msgspec import Struct

from autograd_inspector.model.placement_rows import Held, OptimizerRecord, ParameterRow

Kind = Literal["parameters", "gradients", "state"]
Entry = tuple[Kind, Hashable, Held]
"""(kind, which tensor it is, its facts)."""


class Total(Struct, frozen=True, omit_defaults=True):
    """Bytes on this rank. A storage that a parameter shares with its gradient or state counts as the parameter's."""

    parameters: int = 0
    gradients: int = 0
    state: int = 0

    @property
    def all(self) -> int:
        """Parameters, gradients and state together."""
        return self.parameters + self.gradients + self.state


class Totals:
    """``whole`` is everything; the others are the same bytes by what stands in the key. Each is added up on first use.

    A storage that reaches into several groups or modules counts in each of them with the part that is there.
    """

    def __init__(self, rows: tuple[ParameterRow, ...], optimizers: tuple[OptimizerRecord, ...]) -> None:
        self._rows = rows
        self._optimizers = optimizers

    @cached_property
    def whole(self) -> Total:
        """All of it."""
        return _total(_tensors(self._rows), whole=True)

    @cached_property
    def by_device(self) -> dict[str, Total]:
        """By where the tensors live."""
        return self._by("device")

    @cached_property
    def by_dtype(self) -> dict[str, Total]:
        """By what the tensors' elements are."""
        return self._by("dtype")

    @cached_property
    def by_group(self) -> dict[str, Total]:
        """By optimizer and parameter group."""
        groups: dict[str, list[ParameterRow]] = {}
        types = {optimizer.id: optimizer.type for optimizer in self._optimizers}
        several = len({*types.values()}) < len(types)
        for row in self._rows:
            if row.optimizer >= 0:
                number = f" {row.optimizer}" if several else ""
                group = f"group {row.group}" if row.group >= 0 else "no group"
                groups.setdefault(f"{types[row.optimizer]}{number} {group}", []).append(row)
        return _parts(groups)

    @cached_property
    def by_module(self) -> dict[str, Total]:
        """By module subtree, at every depth."""
        modules: dict[str, list[ParameterRow]] = {}
        for row in self._rows:
            for module in dict.fromkeys(parent for name in row.names for parent in _parents(name)):
                modules.setdefault(module, []).append(row)
        return _parts(modules)

    @cached_property
    def by_child(self) -> dict[str, Total]:
        """By the outermost modules alone, called as everywhere: ``net.0`` of a model ``net``."""
        modules: dict[str, list[ParameterRow]] = {}
        for row in self._rows:
            model = row.name.removesuffix(row.names[0]) if row.names else ""
            model = "" if model == row.name else model
            for child in dict.fromkeys(parent for name in row.names for parent in islice(_parents(name), 1)):
                modules.setdefault(model + child, []).append(row)
        return _parts(modules)

    def _by(self, what: Literal["device", "dtype"]) -> dict[str, Total]:
        parts: dict[str, list[Entry]] = {}
        for entry in _tensors(self._rows):
            parts.setdefault(getattr(entry[2], what), []).append(entry)
        return {key: _total(members, whole=True) for key, members in parts.items()}


def _parts(rows: dict[str, list[ParameterRow]]) -> dict[str, Total]:
    return {key: _total(_tensors(members), whole=False) for key, members in rows.items()}


def bytes_of(rows: Iterable[ParameterRow]) -> Total:
    """What some rows hold, as part of a whole."""
    return _total(_tensors(rows), whole=False)


def _tensors(rows: Iterable[ParameterRow]) -> Iterator[Entry]:
    """Parameters first, so that what they share with others is theirs."""
    rows = list(rows)
    yield from (("parameters", (row.tensor, ""), row) for row in rows)
    yield from (("gradients", (row.tensor, "grad"), row.gradient) for row in rows if row.gradient is not None)
    yield from (("state", (row.tensor, entry.name, row.optimizer), entry) for row in rows for entry in row.state)


def _total(tensors: Iterable[Entry], *, whole: bool) -> Total:
    sums: dict[Kind, int] = {"parameters": 0, "gradients": 0, "state": 0}
    owner: dict[int, Kind] = {}
    parts: dict[int, int] = {}
    size: dict[int, int] = {}
    seen: set[Hashable] = set()
    for kind, key, held in tensors:
        if key in seen:
            continue
        seen.add(key)
        nbytes = held.nbytes if held.sharding is None else held.sharding.local_nbytes
        if held.storage < 0:
            sums[kind] += nbytes
        elif owner.setdefault(held.storage, kind) == kind:
            size[held.storage] = held.allocated
            parts[held.storage] = parts.get(held.storage, 0) + nbytes
    for storage, kind in owner.items():
        sums[kind] += size[storage] if whole else min(size[storage], parts[storage])
    return Total(**sums)


def _parents(name: str) -> Iterator[str]:
    """``h``, ``h.0``, ``h.0.attn`` of ``h.0.attn.weight``."""
    end = name.find(".")
    while end >= 0:
        yield name[:end]
        end = name.find(".", end + 1)
