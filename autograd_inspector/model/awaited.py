"""Nodes that are looked for in the runs to come."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_inspector.model.graphs import RunGraphs


class Awaited:
    """Some nodes, until a run has them: a run that leads to none of them is not gone through for them.

    An awaited node marks all that lead to it, whichever run they belong to; going down by the marks takes these off.
    """

    def __init__(self, runs: RunGraphs) -> None:
        self._runs = runs
        self._awaited: set[int] = set()
        self._leading: set[int] = set()
        """Nodes that an awaited one may lie at or below; of any other none does."""

    def add(self, nodes: Iterable[int]) -> None:
        """Look for those as well."""
        for start in nodes:
            self._awaited.add(start)
            todo = [start]
            while todo:
                number = todo.pop()
                if number not in self._leading:
                    self._leading.add(number)
                    todo += self._runs.above.get(number, ())

    def met(self, place: int) -> list[int]:
        """Those that a run has, as they are numbered: they are awaited no longer."""
        leading, met_nodes = self._leading, []
        todo = [root for root in self._runs.runs[place].graph.roots if root in leading]
        while todo:
            number = todo.pop()
            if number not in leading:
                continue
            leading.discard(number)
            if number in self._awaited:
                self._awaited.discard(number)
                met_nodes.append(number)
            todo += [child for child, _ in self._runs.nodes[number].edges if child in leading]
        return sorted(met_nodes)
