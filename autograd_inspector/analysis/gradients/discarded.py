"""Gradients that are cleared before any step or reader has seen them: which backward lost them, and who cleared them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from math import inf

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.gradients.memory import zeroed_in_place
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.event import Step
from autograd_inspector.model.program_events import ModuleCleared, ZeroGradCalled


class Lost(Struct, frozen=True):
    """A backward whose gradients were cleared unseen, at ``site``; ``again``: the same line filled some of them next.

    ``reached``: the parameters that lost them so; ``cleared``: when, for each of these.
    """

    run: Backward
    reached: frozenset[int]
    site: int
    again: bool
    cleared: dict[int, int]


class Losses:
    """All backwards of a capture that no step and no reader had any use of, and those that had some."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        capture = analysis.capture
        stepping = {line_of(analysis, step.site) for step in capture.steps}
        complete = (run for run in capture.completed_runs)
        runs = [run for run in complete if not _in_closure(analysis, run, stepping)]
        hooked = {hook.tensor for hook in capture.tensor_hooks}
        self._met: dict[int, list[tuple[int, int, Backward | Step]]] = {}
        self._numbers = {run.index: number for number, run in enumerate(runs)}
        for number, run in enumerate(runs):
            for tensor in run.reached:
                self._met.setdefault(tensor, []).append((run.start, number, run))
        self._gradients: dict[tuple[int, int], int] = {}
        """(step, parameter) -> the gradient that the step met."""
        for step in capture.steps:
            for p in step.parameters:
                # At the same index as a backward the step comes later: the step is an op itself.
                self._met.setdefault(p.tensor, []).append((step.at, len(runs), step))
                self._gradients[step.at, p.tensor] = p.gradient
        for met in self._met.values():
            met.sort(key=lambda event: event[:2])
        self._clearings = _clearings(analysis)
        self._stale = {run.index: frozenset(run.stale) for run in runs}
        self._reads = _reads(capture)
        self._ends: dict[tuple[int, int], tuple[tuple[int, int] | None, Backward | Step | None]] = {}
        """(parameter, run) -> what became of the gradient, as far as it was asked."""
        self.lost: list[Lost] = []
        self.partly: list[Lost] = []
        """Backwards of whose gradients the program read some, and cleared all of the others unseen."""
        self.served: list[Backward] = []
        for number, run in enumerate(runs):
            reached = frozenset(t for t in run.reached if t not in run.empty)
            learning = reached & capture.optimized
            judged = (
                not run.graph.blind and learning.isdisjoint(hooked) and not self._asked_for(run, reached - learning)
            )
            lost = self._lost(run, number, learning) if judged else None
            if lost is not None and lost.reached == learning:
                self.lost.append(lost)
                continue
            if lost is not None:
                self.partly.append(lost)
            if any(self._following(tensor, run.start, number) is not None for tensor in reached):
                self.served.append(run)

    def ended_early(self, lost: Lost) -> bool:
        """Whether a round broke off: the line that cleared runs in such rounds alone, in others a step runs instead.

        Between the micro-batches of one step the same line clears what a step has used, too, or what is still empty.
        Where no other line clears, what a step has used stays for the next backward to add to: this line is to clear it.
        """
        if all(run.site != lost.run.site for run in self.served):
            return False
        if all(site == lost.site for tensor in lost.reached for _, site, _ in self._clearings.get(tensor, ())):
            return False
        cleared = {pair for other in self.lost for pair in other.cleared.items()}
        return all(
            (tensor, at) in cleared or self._on_the_edge(tensor, at)
            for tensor in lost.reached
            for at, site, _ in self._clearings.get(tensor, ())
            if site == lost.site
        )

    def _on_the_edge(self, tensor: int, at: int) -> bool:
        """Whether what it cleared is folded away, or nothing comes after a backward that would show the loss."""
        met = self._met[tensor]
        last = met[-1][2]
        if self._analysis.capture.history.folded and at < met[0][0]:
            return True
        return isinstance(last, Backward) and last.end <= at

    def _asked_for(self, run: Backward, others: frozenset[int]) -> bool:
        """Whether a run was for the gradients of what no optimizer has: an input that an attack moves."""
        following = self._analysis.timeline.next_run(run)
        end = len(self._analysis.capture.ops) if following is None else following.start
        return any(self._read(tensor, run.end, end) for tensor in others)

    def _following(self, tensor: int, start: int, number: int) -> Backward | Step | None:
        """What meets the gradient next that a run has filled, which began then."""
        met = self._met[tensor]
        at = bisect_right(met, (start, number), key=lambda event: event[:2])
        return met[at][2] if at < len(met) else None

    def _lost(self, run: Backward, number: int, reached: frozenset[int]) -> Lost | None:
        """What was cleared unseen of a run, if nothing of it met a step."""
        site, again, when = -1, False, dict[int, int]()
        for tensor in sorted(reached):
            cleared, following = self._end(tensor, run, number)
            if cleared is None:
                return None
            if self._read(tensor, run.end, cleared[0]):
                continue
            when[tensor] = cleared[0]
            site = cleared[1] if site < 0 else site
            again = again or (isinstance(following, Backward) and following.site == run.site)
        return Lost(run, frozenset(when), site, again, when) if when else None

    def _end(self, tensor: int, run: Backward, number: int) -> tuple[tuple[int, int] | None, Backward | Step | None]:
        """(when, site) of the clearing of a gradient, and what came next; None where a step had used it by then.

        Other backwards may have added to it before.
        """
        path = []
        while (tensor, run.index) not in self._ends:
            path.append((tensor, run.index))
            following = self._following(tensor, run.start, number)
            cleared = None if following is None else self._cleared(run, tensor, following)
            if cleared is not None or not isinstance(following, Backward):
                self._ends[tensor, run.index] = cleared, following
            else:
                run, number = following, self._numbers[following.index]
        end = self._ends[tensor, run.index]
        self._ends.update(dict.fromkeys(path, end))
        return end

    def _read(self, tensor: int, start: int, end: int) -> bool:
        reads = self._reads.get(tensor, ())
        at = bisect_left(reads, start)
        return at < len(reads) and reads[at] <= end

    def _cleared(self, run: Backward, tensor: int, following: Backward | Step) -> tuple[int, int] | None:
        """(when, site) of the clearing of that gradient before what came next met it; None where it was met."""
        if isinstance(following, Step):
            end = following.at
            met = self._gradients[end, tensor]
            in_place = met >= 0
            if in_place and zeroed_in_place(self._analysis, [met], run.end, end) is None:
                return None
        else:
            end = following.start
            in_place = tensor in self._stale[following.index]
        calls = self._clearings.get(tensor, [])
        # Filling with zeros is an op, so what cleared at the very index of the backward came before it. Setting to
        # None is none: there the last of several is the one that came after it.
        later = bisect_right(calls, run.end, key=lambda call: call[0])
        for place in range(later, len(calls)):
            at, site, called = calls[place]
            if at > end:
                break
            if called or not in_place:
                return at, site
        return calls[later - 1][:2] if later and calls[later - 1][0] == run.end and not in_place else None


def _reads(capture: Capture) -> dict[int, list[int]]:
    """Parameter -> when its gradient was read. What is only clipped is to be used afterwards."""
    reads: dict[int, list[int]] = {}
    for read in capture.grad_reads:
        if not 0 <= read.clips < inf:
            reads.setdefault(read.tensor, []).append(read.at)
    return reads


def _clearings(analysis: Analysis) -> dict[int, list[tuple[int, int, bool]]]:
    """Parameter -> (when, site, whether it was a zero_grad() and not `.grad = None`) of all clearings."""
    clearings: dict[int, list[tuple[int, int, bool]]] = {}
    optimizers = analysis.capture.placement.optimizers
    for call in analysis.capture.events_of(ZeroGradCalled):
        for tensor in set(optimizers[call.optimizer].held) if call.optimizer >= 0 else ():
            clearings.setdefault(tensor, []).append((call.at, call.site, True))
    for cleared in analysis.capture.events_of(ModuleCleared):
        for tensor in cleared.tensors:
            clearings.setdefault(tensor, []).append((cleared.at, cleared.site, True))
    for write in analysis.capture.grad_writes:
        if write.gradient < 0:
            clearings.setdefault(write.tensor, []).append((write.at, write.site, False))
    for calls in clearings.values():
        calls.sort(key=lambda call: call[0])
    return clearings


def _in_closure(analysis: Analysis, run: Backward, stepping: set[tuple[str, int] | None]) -> bool:
    """Whether a step called it, from one of those lines: a line search computes gradients as often as it likes."""
    frames = analysis.capture.site(run.site)
    return run.nested_in >= 0 or any(frame.line in stepping for frame in frames)


def windows(analysis: Analysis, tensors: frozenset[int]) -> Iterator[tuple[int, int]]:
    """(start, end) between the steps that use these parameters; steps with no backward in between are one.

    The first one is left out where its beginning is folded away.
    """
    capture = analysis.capture
    start, start_recorded = -1, not capture.history.folded
    starts = sorted(run.start for run in capture.backwards if run.api == "backward")
    for step in capture.steps:
        if not step.error and any(p.tensor in tensors for p in step.parameters):
            if bisect_right(starts, start) < bisect_right(starts, step.at):
                if start_recorded:
                    yield start, step.at
                start_recorded = True
            start = step.at
