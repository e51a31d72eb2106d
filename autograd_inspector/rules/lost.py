"""Gradients that are cleared before any step or reader has seen them: which backward lost them, and who cleared them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step
from autograd_inspector.rules.catalogue import Facts
from autograd_inspector.rules.clearing import clears
from autograd_inspector.rules.gradient_memory import zeroed_in_place


class Lost(Struct, frozen=True):
    """A backward all of whose gradients were cleared unseen at ``site``; ``again``: the same line ran next."""

    run: Backward
    reached: frozenset[int]
    site: int
    again: bool


class Losses:
    """All backwards of a capture that no step and no reader had any use of, and those that had some."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        capture = facts.capture
        runs = [r for r in capture.backwards if r.api == "backward" and not r.error and not _in_closure(facts, r)]
        hooked = {hook.tensor for hook in capture.tensor_hooks}
        self._events: dict[int, list[tuple[int, int, Backward | Step]]] = {}
        for number, run in enumerate(runs):
            for tensor in run.reached:
                self._events.setdefault(tensor, []).append((run.start, number, run))
        for step in capture.steps:
            for p in step.parameters:
                # At the same index as a backward the step comes later: the step is an op itself.
                self._events.setdefault(p.tensor, []).append((step.at, len(runs), step))
        for events in self._events.values():
            events.sort(key=lambda event: event[:2])
        self.found: list[Lost] = []
        self.served: list[Backward] = []
        for number, run in enumerate(runs):
            reached = frozenset(t for t in run.reached if t not in run.empty)
            lost = self._lost(run, number, reached) if reached <= capture.optimized - hooked else None
            if lost is not None:
                self.found.append(lost)
            elif any(self._following(tensor, run, number) is not None for tensor in reached):
                self.served.append(run)

    def _following(self, tensor: int, run: Backward, number: int) -> Backward | Step | None:
        """What meets the gradient of a run next."""
        events = self._events[tensor]
        at = bisect_right(events, (run.start, number), key=lambda event: event[:2])
        return events[at][2] if at < len(events) else None

    def _lost(self, run: Backward, number: int, reached: frozenset[int]) -> Lost | None:
        cleared = []
        for tensor in sorted(reached):
            following = self._following(tensor, run, number)
            found = None if following is None else self._cleared(run, tensor, following)
            if found is None:
                return None
            cleared.append((*found, following))
        if not cleared:
            return None
        until = max(when for when, _, _ in cleared)
        if any(run.end <= read.at <= until and read.tensor in reached for read in self._facts.capture.grad_reads):
            return None
        again = all(isinstance(after, Backward) and after.site == run.site for _, _, after in cleared)
        return Lost(run, reached, cleared[0][1], again)

    def _cleared(self, run: Backward, tensor: int, following: Backward | Step) -> tuple[int, int] | None:
        """(when, site) of the clearing of that gradient before what came next met it; None where it was met."""
        facts, capture = self._facts, self._facts.capture
        if isinstance(following, Step):
            end = following.at
            met = next(p.gradient for p in following.parameters if p.tensor == tensor)
            kept = met >= 0 and zeroed_in_place(facts, [met], run.end, end) is None
            in_place = met >= 0
        else:
            end = following.start
            in_place, kept = tensor in following.stale, False
        if kept:
            return None
        calls = [(c.at, c.site) for c in capture.changes if run.end <= c.at <= end and clears(facts, c, [tensor])]
        if not in_place:
            writes = capture.grad_writes
            given = [w for w in writes if run.end <= w.at <= end and w.tensor == tensor and w.gradient < 0]
            calls += [(w.at, w.site) for w in given]
        # Filling with zeros is an op, so what cleared at the very index of the backward came before it. Setting to
        # None is none: there the last of several is the one that came after it.
        later = sorted(call for call in calls if call[0] > run.end)
        if later:
            return later[0]
        return calls[-1] if calls and not in_place else None


def _in_closure(facts: Facts, run: Backward) -> bool:
    """Whether a step called it: a line search computes gradients as often as it likes."""
    callers = {(frame.filename, frame.lineno) for frame in facts.capture.site(run.site)}
    places = [facts.capture.place(step.site) for step in facts.capture.steps]
    return run.nested_in >= 0 or any(
        place is not None and (place.filename, place.lineno) in callers for place in places
    )


def windows(facts: Facts, tensors: frozenset[int]) -> Iterator[tuple[int, int]]:
    """(start, end) between the steps that use these parameters; steps with no backward in between are one.

    The first one is left out where its beginning is folded away.
    """
    capture = facts.capture
    start, known = -1, not capture.history.folded
    starts = sorted(run.start for run in capture.backwards if run.api == "backward")
    for step in capture.steps:
        if not step.error and any(p.tensor in tensors for p in step.parameters):
            if bisect_right(starts, start) < bisect_right(starts, step.at):
                if known:
                    yield start, step.at
                known = True
            start = step.at
