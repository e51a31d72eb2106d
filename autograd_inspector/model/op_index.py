"""The ops of a capture by what they are called and by what they are: most questions are about few of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import chain

from autograd_inspector.model.autograd import Node
from autograd_inspector.model.op import Op


class OpIndex:
    """Numbers of ops, in program order. Each index is made on first use, and each selection once."""

    def __init__(self, ops: Sequence[Op], nodes: Sequence[Node]) -> None:
        self._ops, self._nodes = ops, nodes
        self._selected: dict[frozenset[str], Sequence[int]] = {}
        self._carrying: dict[int, Sequence[int]] = {}

    @cached_property
    def by_name(self) -> dict[str, list[int]]:
        """What is called -> the ops that call it."""
        by_name: dict[str, list[int]] = {}
        for op in self._ops:
            numbers = by_name.get(op.name)
            if numbers is None:
                by_name[op.name] = [op.index]
            else:
                numbers.append(op.index)
        return by_name

    def called(self, wanted: Callable[[str], bool]) -> Sequence[int]:
        """The ops whose names are wanted."""
        names = frozenset(filter(wanted, self.by_name))
        selected = self._selected.get(names)
        if selected is None:
            selected = self._selected[names] = _merged([self.by_name[name] for name in names])
        return selected

    @cached_property
    def _by_traits(self) -> dict[int, list[int]]:
        by_traits: dict[int, list[int]] = {}
        for op in self._ops:
            numbers = by_traits.get(op.traits)
            if numbers is None:
                by_traits[op.traits] = [op.index]
            else:
                numbers.append(op.index)
        return by_traits

    def having(self, traits: int) -> Sequence[int]:
        """The ops that have some of those traits."""
        bits = int(traits)
        carrying = self._carrying.get(bits)
        if carrying is None:
            parts = [numbers for each, numbers in self._by_traits.items() if int.__and__(each, bits)]
            carrying = self._carrying[bits] = _merged(parts)
        return carrying

    @cached_property
    def writing(self) -> Sequence[int]:
        """The ops that wrote to a tensor in place."""
        return [op.index for op in self._ops if op.writes]

    @cached_property
    def raising(self) -> Sequence[int]:
        """The ops that raised."""
        return [op.index for op in self._ops if op.error]

    @cached_property
    def in_graphs(self) -> frozenset[int]:
        """The ops that made nodes of the graphs of the capture."""
        return frozenset(node.op for node in self._nodes if node.op >= 0)


def _merged(parts: Sequence[list[int]]) -> Sequence[int]:
    if len(parts) == 1:
        return parts[0]
    merged: Iterable[int] = chain.from_iterable(parts)
    return sorted(merged)
