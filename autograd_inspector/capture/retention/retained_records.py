"""What must stay when old records are folded away: whatever the records that stay refer to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from autograd_inspector.capture.observers.calls.regions import Regions
from autograd_inspector.capture.observers.modules.calls import Modules
from autograd_inspector.capture.recording.raw_records import (
    FACT_BIRTH,
    OP_CALL,
    OP_FIRST,
    OP_INPUTS,
    OP_LAST,
    OP_NAME,
    OP_OUTPUTS,
    OP_REGION,
    OP_SITE,
    OP_TRAITS,
    OP_WRITES,
    RawOp,
)
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.graphs import below
from autograd_inspector.model.op import Trait

STEP = int(Trait.STEP)
_FAR = 4
"""So many ops back the makers of a tensor that lives on are kept: what it was computed from."""
_MAKERS = 2_000
"""And no more of them than that, the nearest first."""
_LIVING = 2_000
"""Tensors of folded steps that the program still holds, the youngest: a later op may read them."""


class RetainedRecords:
    """The indices of the records before ``cut`` (an op index) that stay; all after it do.

    A tensor keeps its name and the op that made it as long as the program holds it or a record that stays tells of it:
    a mask made in step 3 and saved for backward until step 9,999, a copy for an average, the graph that a sum drags
    along.
    """

    def __init__(self, recording: Recording, modules: Modules, regions: Regions, cut: int) -> None:
        self.recording = recording
        self.cut = cut
        self.tensors: set[int] = set()
        self.ops: set[int] = set()
        first = _judged(recording)
        self.backwards = {
            i
            for i, run in recording.backwards.items()
            if run.start >= cut or run.end > cut or i in recording.running or i in first
        }
        self.optimizers = {step.optimizer for step in recording.steps if step.op >= cut}
        self._graphs()
        self._read()
        self._events()
        self._held()
        self.tensors |= set(modules.holds())
        self._living()
        self._memory()
        self._makers()
        self.calls = self._calls(modules.open_calls())
        self.regions = {0, recording.region, *regions.held(), *(op[OP_REGION] for op in self._kept_ops())}
        self.tensors.discard(-1)

    def _kept_ops(self) -> Iterator[RawOp]:
        yield from (op for _, op in self.recording.ops.items(self.cut))
        yield from (op for op in map(self.recording.ops.get, self.ops) if op is not None)

    def _take(self, ops: Iterable[RawOp]) -> None:
        for op in ops:
            self.tensors.update(op[OP_INPUTS], op[OP_OUTPUTS], (write.tensor for write in op[OP_WRITES]))

    def _graphs(self) -> None:
        """The ops that made the nodes of the graphs that stay, with all that they read."""
        runs = [self.recording.backwards[number] for number in self.backwards]
        recorded = self.recording.recorded.nodes
        self.nodes = frozenset(below(recorded, (root for run in runs for root in run.graph.roots)))
        for run in runs:
            self.tensors.update(run.roots, run.reached, run.weights)
        for node in map(recorded.__getitem__, self.nodes):
            self.tensors.add(node.variable)
            self.tensors.update(saved.tensor for saved in node.saved)
            if 0 <= node.op < self.cut:
                self.ops.add(node.op)

    def _read(self) -> None:
        recording = self.recording
        self.ops |= {taken for op, taken in recording.scalar_reentries if op >= self.cut and taken < self.cut}
        if recording.values is not None:
            for fault in recording.values.faults:
                self.tensors.update(value.tensor for value in (*fault.outputs, *fault.inputs))
                self.ops |= {op for op in (fault.op, fault.met_by) if 0 <= op < self.cut}
        self._take(self._kept_ops())

    def _events(self) -> None:
        """What is told beside the ops, once it is thinned out."""
        recording, tensors = self.recording, self.tensors
        for step in recording.steps:
            if step.op >= self.cut:
                tensors.update(t for p in step.parameters for t in (p.tensor, p.gradient))
        for read in recording.grad_reads:
            if read.at >= self.cut:
                tensors.update((read.tensor, read.gradient))
        for write in recording.grad_writes:
            if write.at >= self.cut:
                tensors.update((write.tensor, write.gradient))
        for event in recording.events:
            tensors.update(event.tensors)
            self.optimizers.add(event.optimizer)
        for replacement in recording.replacements:
            named = (*replacement.replaced, *replacement.gone, *replacement.added, *replacement.altered)
            tensors.update(t for name in named for t in name[1:] if isinstance(t, int))
        tensors.update(recording.kept.tensors())
        tensors.add(recording.error_tensor)
        tensors.update(recording.exports.tensors(len(recording.backwards)))

    def _held(self) -> None:
        """What optimizers and models have."""
        recording, tensors = self.recording, self.tensors
        for optimizer in recording.optimizers.values():
            tensors.update(t for group in optimizer.parameters for t in group)
        for rows in recording.rows.values():
            tensors.update(t for row in rows for t in (row.tensor, *(entry.tensor for entry in row.state)))

    def _living(self) -> None:
        """Of those that the program holds and nothing else tells of, the youngest."""
        living = [number for number, entry in self.recording.registry.entries.items() if entry() is not None]
        self.tensors.update(living[-_LIVING:])

    def _memory(self) -> None:
        """What made or wrote the memory of parameters, the last time at each line: an init, a conversion, a copy.

        And what autograd recorded in place in that of others, and what gave parameters other memory. Of the
        optimizers' steps nothing: they are counted.
        """
        registry = self.recording.registry
        entries, stored = registry.entries, registry.storages_of(registry.parameters & self.tensors)
        stored |= self._edited() & registry.storages_of(self.tensors)
        parameters = registry.parameters & self.tensors
        last: dict[tuple[str, int, int], int] = {}
        given: dict[tuple[int, int], int] = {}
        for index, op in self.recording.ops.items():
            if index >= self.cut:
                break
            if op[OP_TRAITS] & STEP:
                continue
            for write in op[OP_WRITES]:
                if write.storage in stored:
                    last[op[OP_NAME], op[OP_SITE], write.storage] = index
                elif write.tensor in parameters:  # It was given other memory.
                    given[op[OP_SITE], write.tensor] = index
            for output in op[OP_OUTPUTS]:
                entry = entries.get(output)
                if entry is not None and entry.storage in stored:
                    last[op[OP_NAME], op[OP_SITE], entry.storage] = index
        chosen = sorted({*last.values(), *given.values()})[-_MAKERS:]
        self.ops.update(chosen)
        self._take(self.recording.ops[index] for index in chosen)

    def _edited(self) -> frozenset[int]:
        """The memory that ops with an autograd node of their own modified."""
        recorded = (op for _, op in self.recording.ops.items() if op[OP_WRITES] and op[OP_LAST] > op[OP_FIRST])
        return frozenset(write.storage for op in recorded for write in op[OP_WRITES])

    def _makers(self) -> None:
        """The ops that made the tensors that stay, and some of those that made what they were made of."""
        recording, facts = self.recording, self.recording.registry.facts
        most = len(self.ops) + _MAKERS
        front = set(self.tensors)
        for _ in range(_FAR):
            births = {
                fact[FACT_BIRTH]
                for fact in map(facts.get, front)
                if fact is not None and 0 <= fact[FACT_BIRTH] < self.cut
            }
            room = most - len(self.ops)
            made = [birth for birth in sorted(births - self.ops, reverse=True) if birth in recording.ops][:room]
            if not made:
                return
            self.ops.update(made)
            before = set(self.tensors)
            self._take(recording.ops[birth] for birth in made)
            front = self.tensors - before

    def _calls(self, opened: Iterable[int]) -> set[int]:
        """Module calls in which ops that stay ran, and those around them."""
        calls, kept_calls = self.recording.calls, set[int]()
        todo = {self.recording.call, *opened, *(op[OP_CALL] for op in self._kept_ops())}
        todo |= {number for number, call in calls.items() if call.at >= self.cut}
        while todo:
            number = todo.pop()
            call = calls.get(number)
            if call is not None and number not in kept_calls:
                kept_calls.add(number)
                todo.add(call.parent)
        return kept_calls


def _judged(recording: Recording) -> set[int]:
    """The backward in which a gradient first stopped being finite."""
    faults = recording.values.gradient_faults if recording.values is not None else []
    return {next((fault.backward for fault in faults if fault.kind == "nonfinite"), -1)}
