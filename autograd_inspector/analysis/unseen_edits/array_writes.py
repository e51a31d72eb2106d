"""A line that writes to NumPy arrays: which backward first uses memory that it has written to."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.saved_tensors import Saved, made_at
from autograd_inspector.analysis.unseen_edits.array_memory import Memory, Writer
from autograd_inspector.analysis.unseen_edits.recomputed_forwards import Key, key_of
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.awaited import Awaited
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op


class Use(NamedTuple):
    """What uses the memory after a write through an array: a saved tensor, or an op that is recomputed."""

    writer: Writer
    by: Saved | Op


class WritingLine:
    """Goes through the runs in order, until one uses what the line has written."""

    def __init__(self, analysis: Analysis, memory: Memory, site: int) -> None:
        self._analysis, self._memory = analysis, memory
        self._place = analysis.capture.place(site)
        self._writers = memory.sites[site]
        self._awaited = Awaited(analysis.run_graphs)
        self._taken = 0

    def met(self, place: int) -> Use | None:
        """The first write whose memory that run uses."""
        run = self._analysis.run_graphs.runs[place]
        first = self._taken
        while self._taken < len(self._saved) and self._saved[self._taken][0].alias.op < run.start:
            self._taken += 1
        self._awaited.add(saved[0].index for _, saved in self._saved[first : self._taken])
        if self._order(run.site) < 0:
            return None
        met = frozenset(self._awaited.met(place))
        uses = [Use(*pair) for pair in self._saved[: self._taken] if pair[1][0].index in met] if met else []
        uses += self._recomputed(run)
        return min(uses, key=lambda use: use.writer.order, default=None)

    @cached_property
    def _saved(self) -> list[tuple[Writer, Saved]]:
        """What was saved in the memory, each with the first write that reaches it after that, in their order."""
        ops = self._analysis.capture.ops
        saved_with_writer = []
        for storage in self._writers:
            for node, saved in self._memory.saved.get(storage, ()):
                before = node.op >= 0 and self._order(ops[node.op].site) < 0
                writer = self._writer(storage, -1 if before else made_at(node))
                if writer is not None:
                    saved_with_writer.append((writer, (node, saved)))
        return sorted(saved_with_writer, key=lambda pair: pair[0].order)

    def _recomputed(self, run: Backward) -> Iterator[Use]:
        """Ops of the recomputation that read the memory, as they did in the forward before the write."""
        # Recomputation may stop inside an op, once that has saved what is wanted: it has made no node then.
        again = self._memory.read_again
        for index, storage in again[bisect_left(again, (run.start, -1)) : bisect_left(again, (run.end, -1))]:
            op = self._analysis.capture.ops[index]
            first, above = self._forward.get((storage, key_of(self._analysis, op)), (run.end, run.end))
            writer = self._writer(storage, -1 if above < run.end else first + 1)
            if writer is not None and writer.alias.op < run.start:
                yield Use(writer, op)

    @cached_property
    def _forward(self) -> dict[tuple[int, Key], tuple[int, float]]:
        """(storage, what read it) -> the first op that did, and the first whose line stands before this one."""
        first_reads = {}
        for storage in self._writers:
            for key, ops in self._memory.read.get(storage, {}).items():
                above = min((op.index for op in ops if self._order(op.site) < 0), default=math.inf)
                first_reads[storage, key] = ops[0].index, above
        return first_reads

    def _writer(self, storage: int, since: int) -> Writer | None:
        """The first write to that memory from an op on."""
        writers = self._writers.get(storage, [])
        place = bisect_left(writers, since, key=lambda writer: writer.alias.op)
        return writers[place] if place < len(writers) else None

    def _order(self, site: int) -> int:
        return order_of(self._analysis, site, self._place)


def order_of(analysis: Analysis, site: int, line: Location | None) -> int:
    """Whether a site stands before (-1) or after (1) a line in the line's own function; 0: not in it."""
    for frame in analysis.capture.site(site):
        if line is not None and frame.scope == line.scope:
            return (frame.lineno > line.lineno) - (frame.lineno < line.lineno)
    return 0
