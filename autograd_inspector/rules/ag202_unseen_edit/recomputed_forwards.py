"""Which call of a checkpointed function a recomputation repeats."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import chain

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.graphs import Below, RunGraphs
from autograd_inspector.model.op import Op

Key = tuple[str, int, str, int]


def key_of(analysis: Analysis, op: Op) -> Key:
    """What tells a recomputed op from others: its name and where it was called."""
    frames = analysis.capture.site(op.site)
    inner = frames[0] if frames else None
    return op.name, inner.lineno if inner else -1, inner.filename if inner else "", inner.column if inner else -1


class Forwards:
    """The ops outside of recomputation, by what they are called, where, and with which tensor, in program order.

    Of those that a recomputed op may repeat, the ones are meant that are in the graph of the backward that runs it and
    whose saved tensors it has to ask a hook for: the same function may run in other graphs. Where none of them is,
    those that ran before the last that is; else all.
    """

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._ops: dict[tuple[Key, int], list[int]] = {}
        self._packed: dict[tuple[Key, int], list[int]] = {}
        """Those of them whose saved tensors a hook holds."""
        self._holding: dict[int, list[int]] = {}
        """Op -> its nodes of which a hook holds saved tensors."""
        for node in analysis.capture.nodes:
            if node.op >= 0 and any(saved.status == "packed" for saved in node.saved):
                self._holding.setdefault(node.op, []).append(node.index)
        held = {node for nodes in self._holding.values() for node in nodes}
        self._latest = Below(analysis.capture.nodes, lambda node: node.op if node.index in held else -1, max)
        self._runs = RunGraphs(
            analysis.capture.nodes, (run for run in analysis.capture.backwards if run.end > run.start)
        )
        self._place: dict[int, int] = {}
        """Op -> the place of the run during which it ran, where that has such a node."""
        for place, run in enumerate(self._runs.runs if held else ()):
            if self._last_held(place) >= 0:
                self._place |= dict.fromkeys(range(run.start, run.end), place)

    def add(self, key: Key, op: Op) -> None:
        """The program called it."""
        for tensor in dict.fromkeys(op.inputs):
            self._ops.setdefault((key, tensor), []).append(op.index)
            if op.index in self._holding:
                self._packed.setdefault((key, tensor), []).append(op.index)

    def last(self, key: tuple[Key, int], op: Op) -> Op | None:
        """The one that a recomputed op repeats."""
        return next(self._meant(key, op), None)

    def earlier(self, key: tuple[Key, int], op: Op) -> Iterator[Op]:
        """The others that it may repeat, the latest first."""
        meant = self._meant(key, op)
        next(meant, None)
        return meant

    def _meant(self, key: tuple[Key, int], op: Op) -> Iterator[Op]:
        ops, every = self._analysis.capture.ops, self._ops.get(key, [])
        place = self._place.get(op.index, -1)
        held = reversed(self._packed.get(key, [])) if place >= 0 else iter(())
        own = (index for index in held if any(self._runs.has(place, node) for node in self._holding[index]))
        first = next(own, None)
        if first is not None:
            yield from (ops[index] for index in chain((first,), own))
            return
        count = bisect_right(every, self._last_held(place) if place >= 0 else -1) or len(every)
        yield from (ops[every[at]] for at in range(count - 1, -1, -1))

    def _last_held(self, place: int) -> int:
        """The last op of a run's graph whose saved tensors a hook holds; -1: there is none."""
        return max((self._latest.at(root) for root in self._runs.runs[place].graph.roots), default=-1)
