"""Long runs: older steps are folded into facts, the last ones stay as they were recorded.

A training loop may run ten thousand steps under one capture. Of those before the last complete one nothing is kept but
:class:`~autograd_inspector.model.steps_history.History` and what later records refer to. A capture of few steps is
never folded.
"""

from __future__ import annotations

from autograd_inspector.capture.graph_walk.unwalked import tell_by_ops
from autograd_inspector.capture.observers.calls.regions import Regions
from autograd_inspector.capture.observers.modules.calls import Modules
from autograd_inspector.capture.observers.optimizers.known import Optimizers
from autograd_inspector.capture.recording.raw_records import OP_FIRST, OP_INPUTS, OP_LAST
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.retention.iterations import Iterations
from autograd_inspector.capture.retention.renumbering import settle
from autograd_inspector.capture.retention.retained_records import RetainedRecords
from autograd_inspector.capture.retention.step_facts import StepFacts, Stretch
from autograd_inspector.capture.retention.thinning import thin_events, thin_program_events
from autograd_inspector.capture.undisturbed.uninterrupted import uninterrupted
from autograd_inspector.model.steps_history import History

WHOLE = 16
"""A capture of no more complete steps than these, and the one under way, is kept as it is."""
WHOLE_IN_FLIGHT = 64
"""The same of one that has a report only if the program raises: nobody reads it meanwhile, and a new one costs more."""
EVERY = 4
"""Later on so many steps are folded at once: a fold looks at all that stays."""
KEPT = 1
"""Complete steps before the present one. That has stepped itself when it is known to be another: so what one step
leaves to the next (a gradient, a graph) is seen between two whole ones."""


class Folding:
    """Follows the optimizers' steps and folds what lies behind."""

    def __init__(self, recording: Recording, modules: Modules, regions: Regions, optimizers: Optimizers) -> None:
        self.recording = recording
        self.folded = 0
        self._whole = WHOLE_IN_FLIGHT if recording.flight else WHOLE
        self._modules = modules
        self._regions = regions
        self._optimizers = optimizers
        self._iterations = Iterations()
        self._facts = StepFacts(recording)
        self._roles: dict[int, int] = {}
        self._made: dict[int, tuple[str, int]] = {}
        """Optimizer -> its type, and the line that made it."""
        self._ends: list[int] = []
        """Where the complete steps end that are not folded, by op index; the present one begins at the last."""
        self._start = 0
        self._first = -1
        """The op of the first optimizer step."""
        self._last = 0
        """Behind the latest optimizer step."""
        self._reached: set[int] = set()
        self._used: set[int] = set()
        recording.on_step = self.stepped

    @property
    def steps(self) -> int:
        """How many training steps are complete."""
        return self.folded + len(self._ends) + self._iterations.complete

    def stepped(self, optimizer: int, op: int) -> int:
        """An optimizer has stepped; that op stands for it. Returns which training step that was part of, from 1."""
        role = self._role(optimizer)
        self.recording.kept.rounds.stepped(role, self.recording)
        if self._iterations.stepped(role):
            self._ends.append(self._last)
            if len(self._ends) > (KEPT + EVERY if self.folded else self._whole):
                uninterrupted(self._fold)
        self._last = op + 1
        self._first = self._first if self._first >= 0 else op
        return self.folded + len(self._ends) + 1

    def _role(self, optimizer: int) -> int:
        """The optimizer, or the one that it stands in for: made anew in each step at one line, each replaces the last.

        The latter is gone when its successor steps first.
        """
        role = self._roles.get(optimizer)
        if role is None:
            record = self.recording.optimizers[optimizer]
            alike = (record.type, record.site)
            alive = {number for number, _ in self._optimizers.alive()}
            dead = (
                [n for n, place in self._made.items() if place == alike and n not in alive] if record.site >= 0 else []
            )
            role = self._roles.pop(dead[-1]) if dead else optimizer
            for number in dead:
                del self._made[number]
                self._roles.pop(number, None)
            self._roles[optimizer], self._made[optimizer] = role, alike
        return role

    def finish(self, *, raised: bool) -> History:
        """The program is done: the history of its steps. The recording is numbered from 0 again where it was folded."""
        recording, end = self.recording, len(self.recording.ops)
        if len(self._ends) > (KEPT if self.folded else self._whole):
            self._fold()
        stored = self._parameters()
        starts = (self._start, *self._ends)
        for start, stop in zip(starts, self._ends, strict=False):
            self._facts.add(self._stretch(start, stop), stored)
        start = starts[-1]
        if self._iterations.complete:
            self._facts.add(self._stretch(start, self._last), stored)
            start = self._last
        steps, rest = self._facts.count, self._stretch(start, end)
        unfinished = bool((raised and steps) or rest.steps or any(run.api != "alive" for run in rest.backwards))
        if unfinished:
            self._facts.add(rest, stored)
        history = self._history(steps=steps, unfinished=unfinished)
        if not self.folded:
            return history
        recording.note(
            f"Steps 1 to {self.folded:,} are summarized as counts: of their calls, graphs and events, the report keeps "
            "only those that later steps refer to."
        )
        return settle(recording, self._modules, history)

    def so_far(self) -> History:
        """The history of the steps that are folded, while the program runs."""
        return self._history(steps=self.folded, unfinished=False)

    def _history(self, *, steps: int, unfinished: bool) -> History:
        return self._facts.frozen(
            steps=steps,
            unfinished=unfinished,
            folded=self.folded,
            reached=tuple(sorted(self._reached)),
            used=tuple(sorted(self._used)),
        )

    def _stretch(self, start: int, end: int) -> Stretch:
        recording = self.recording
        # A graph that is still alive at the end is recorded there, behind the last op.
        behind = end if end < len(recording.ops) else end + 1
        return Stretch(
            recording.ops.between(start, end),
            [run for run in recording.backwards if start <= run.start < behind],
            [step for step in recording.steps if start <= step.op < end],
            [saved for op, saved in recording.checkpointed if start <= op < end],
        )

    def _parameters(self) -> frozenset[int]:
        registry = self.recording.registry
        return registry.storages_of(registry.parameters)

    def _fold(self) -> None:
        """Fold all but the last complete steps."""
        recording, registry = self.recording, self.recording.registry
        tell_by_ops(recording)
        count = len(self._ends) - KEPT
        cut = self._ends[count - 1]
        stored = self._parameters()
        for end in self._ends[:count]:
            stretch = self._stretch(self._start, end)
            self._facts.add(stretch, stored)
            self._start = end
            self._reached.update(
                t for run in stretch.backwards if run.api == "backward" and not run.error
                for t in run.reached if t not in run.empty or t in run.taken
            )  # fmt: skip
            self._used.update(
                t for op in stretch.ops if op[OP_LAST] > op[OP_FIRST] for t in op[OP_INPUTS] if t in registry.parameters
            )
        del self._ends[:count]
        self.folded += count
        recording.checkpointed[:] = [(op, saved) for op, saved in recording.checkpointed if op >= cut]
        recording.ledger.update(recording)
        living = {number for number, _ in self._optimizers.alive()}
        gone = thin_program_events(recording, cut, living, self._modules.living())
        kept = RetainedRecords(recording, self._modules, self._regions, cut)
        thin_events(recording, cut, self._first, kept.tensors)
        recording.fold_bounds(cut, kept.ops)
        recording.ledger.fold(cut, kept.ops, kept.tensors, registry.storages_of(kept.tensors))
        recording.lineage.fold(cut, kept.ops, kept.tensors)
        recording.exports.fold(kept.tensors, kept.ops, cut)
        if recording.values is not None:
            recording.values.fold(kept.tensors, kept.backwards)
        recording.ops.fold(cut, kept.ops)
        recording.number_arguments = {
            op: numbers for op, numbers in recording.number_arguments.items() if op in recording.ops
        }
        recording.scales = {op: number for op, number in recording.scales.items() if op in recording.ops}
        recording.calls.fold(len(recording.calls), kept.calls)
        recording.regions.fold(len(recording.regions), kept.regions)
        recording.backwards.fold(len(recording.backwards), kept.backwards)
        recording.recorded.fold(kept.nodes)
        registry.fold(kept.tensors)
        self._modules.fold(kept.tensors, recording.calls)
        self._optimizers.fold(kept.optimizers, gone)
        self._reached &= kept.tensors
        self._used &= kept.tensors
        self._facts.fold(kept.tensors)
