"""What is known of each training step for good: counts, who had a gradient, who was written, what was new in it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import chain, islice
from typing import Any, Generic, NamedTuple, TypeVar

from autograd_inspector.capture.recording.raw_records import OP_FIRST, OP_LAST, OP_NAME, OP_SITE, RawOp
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.autograd import Backward, SavedTensor
from autograd_inspector.model.event import Step
from autograd_inspector.model.graphs import below
from autograd_inspector.model.memory import distinct_bytes
from autograd_inspector.model.steps_history import History, Runs, StepChange

_SETS = 64
"""Different sets of parameters (or graphs) that are told apart; a loop alternates between a few."""
_CHANGES = 64
_LINES = 50_000
"""Lines that are remembered to have run."""


Line = tuple[str, Hashable]
"""(op, where in the user's code)."""


class Stretch(NamedTuple):
    """One step of the program: its ops, and what happened among them."""

    ops: list[RawOp]
    backwards: list[Backward]
    steps: list[Step]
    checkpointed: list[SavedTensor]


class Column:
    """Integers, one a step; equal ones in a row are one entry."""

    def __init__(self) -> None:
        self._values: list[int] = []
        self._times: list[int] = []

    def append(self, value: int) -> None:
        """One step more."""
        if self._values and self._values[-1] == value:
            self._times[-1] += 1
        else:
            self._values.append(value)
            self._times.append(1)

    def frozen(self) -> Runs:
        """What a record keeps of it."""
        return Runs(tuple(self._values), tuple(self._times))


T = TypeVar("T", bound=Hashable)


class _Known(Generic[T]):
    """Numbers different things in the order in which they are met; -1 when there are too many."""

    def __init__(self) -> None:
        self.all: dict[T, int] = {}

    def number(self, thing: T) -> int:
        if thing not in self.all and len(self.all) >= _SETS:
            return -1
        return self.all.setdefault(thing, len(self.all))


class StepFacts:
    """Takes in one step after the other; nothing that it keeps grows with their number but the columns' runs."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self.count = 0
        self._columns = {name: Column() for name in _COLUMNS}
        self._sets: _Known[tuple[int, ...]] = _Known()
        self._stepping: _Known[tuple[int, ...]] = _Known()
        self._graphs: _Known[frozenset[Line]] = _Known()
        self._lines: dict[int, Hashable] = {}
        """Site -> the user's line."""
        self._ran: set[Line] = set()
        """(op, line) of all that autograd recorded so far."""
        self._had: dict[int, bool] = {}
        """Parameter -> whether it had a gradient when its optimizer last stepped."""
        self._reported: set[tuple[tuple[int, ...], tuple[int, ...]]] = set()
        self.changes: list[StepChange] = []
        self.untold = 0

    def add(self, stretch: Stretch, parameters: frozenset[int]) -> None:
        """One step; ``parameters`` are the storages that do not count as saved bytes."""
        self.count += 1
        runs = [run for run in stretch.backwards if run.api != "alive"]
        recorded = self._recording.recorded.nodes
        nodes = [recorded[number] for number in below(recorded, (root for run in runs for root in run.graph.roots))]
        saved = chain((tensor for node in nodes for tensor in node.saved), stretch.checkpointed)
        stepped_parameters = {p.tensor: p for step in stretch.steps for p in step.parameters}
        without = {p.tensor for p in stepped_parameters.values() if p.gradient < 0}
        written = {tensor for step in stretch.steps for tensor in self._written(step)}
        seen = stretch.steps and not any(_unseen(step) for step in stretch.steps)
        values = {
            "ops": len(stretch.ops),
            "nodes": len(nodes),
            "saved_bytes": distinct_bytes(saved, parameters),
            "backwards": len(runs),
            "parameters": len(stepped_parameters),
            "without": self._sets.number(tuple(sorted(without))) if stretch.steps else -1,
            "still": self._sets.number(tuple(sorted(stepped_parameters.keys() - written))) if seen else -1,
            "stepped": self._stepping.number(tuple(step.optimizer for step in stretch.steps)),
            "graph": self._graph(stretch.ops),
        }
        for name, value in values.items():
            self._columns[name].append(value)
        self._gradients({tensor: tensor not in without for tensor in stepped_parameters})

    @staticmethod
    def _written(step: Step) -> Iterator[int]:
        """The parameters that a step wrote to, at a learning rate that changes them."""
        for p in step.parameters:
            if p.gradient >= 0 and p.version_after > p.version_before and step.rate(p) != 0:
                yield p.tensor

    def _graph(self, ops: list[RawOp]) -> int:
        """Which graph it was, by the lines that it was built at; what ran for the first time is noted."""
        first: dict[Line, int] = {}
        for op in ops:
            if op[OP_LAST] > op[OP_FIRST]:  # It made autograd nodes.
                first.setdefault((op[OP_NAME], self._line(op[OP_SITE])), op[OP_SITE])
        new = [(line, site) for line, site in first.items() if line not in self._ran]
        if new:
            self._ran.update(islice((line for line, _ in new), max(_LINES - len(self._ran), 0)))
            if self.count > 1 and len(self._ran) < _LINES:
                (name, _), site = new[0]
                self._tell(StepChange(self.count, "graph", name, site, len(new) - 1))
        return self._graphs.number(frozenset(first))

    def _line(self, site: int) -> Hashable:
        line = self._lines.get(site)
        if line is None:
            chain = self._recording.stacks.chains[site]
            user_entry = next((entry for entry in chain if not entry[2]), chain[0] if chain else None)
            line = self._lines[site] = (site,) if user_entry is None else (user_entry[0], user_entry[1])
        return line

    def _gradients(self, present: dict[int, bool]) -> None:
        before = self._had
        lost = tuple(t for t, has in present.items() if not has and before.get(t, False))
        gained = tuple(t for t, has in present.items() if has and not before.get(t, True))
        before |= present
        if (lost or gained) and (lost, gained) not in self._reported and len(self._reported) < _SETS:
            self._reported.add((lost, gained))
            self._tell(StepChange(self.count, "gradients", lost=lost, gained=gained))

    def _tell(self, change: StepChange) -> None:
        if len(self.changes) < _CHANGES:
            self.changes.append(change)
        else:
            self.untold += 1

    def fold(self, kept: set[int]) -> None:
        """Other tensors than those will not be met again."""
        self._had = {tensor: has for tensor, has in self._had.items() if tensor in kept}

    def frozen(self, **others: Any) -> History:
        """The record; ``others`` are its fields that are not kept here."""
        columns: dict[str, Any] = {name: column.frozen() for name, column in self._columns.items()}
        return History(
            sets=tuple(self._sets.all),
            stepping=tuple(self._stepping.all),
            changes=tuple(self.changes),
            untold=self.untold,
            **columns,
            **others,
        )


def _unseen(step: Step) -> bool:
    """Whether it stepped a parameter of a group of which it moved no version counter: then it may have written it."""
    return any(p.gradient >= 0 and step.rate(p) != 0 and p.group not in step.counted for p in step.parameters)


_COLUMNS = ("ops", "nodes", "saved_bytes", "backwards", "parameters", "without", "still", "stepped", "graph")
