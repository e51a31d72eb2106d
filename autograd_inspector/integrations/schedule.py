"""Which steps of a training are watched: the first and every K-th, or as many as a budget of time allows."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from statistics import median
from typing import Protocol

from autograd_inspector.capture.torch_private.graph import sequence_number
from autograd_inspector.model.finding import Finding

BUDGET = 0.03
_LEAST_FIRST = 2
_RECENT = 32
"""So many unwatched steps tell how long a step takes."""
_ENOUGH = 3
_EXTRAS = 32
"""So many steps of a run are watched whatever they cost: where every step differs, all of them would be."""


class Schedule(Protocol):
    """Asked when a step begins, told when it has ended."""

    def begins(self, step: int) -> bool:
        """Whether that step is watched."""

    def told(self, findings: Iterable[Finding]) -> bool:
        """Whether the report of the watched step that ends now is delivered."""

    def ended(self) -> None:
        """The step is over, its report with it."""


class Regularly:
    """The first steps, and every K-th."""

    def __init__(self, first: int, every: int) -> None:
        self._first = first
        self._every = every
        self._taken = 0

    def begins(self, step: int) -> bool:
        """Whether it is one of them."""
        self._taken += 1
        return self._taken <= self._first or (self._every > 0 and step % self._every == 0)

    def told(self, findings: Iterable[Finding]) -> bool:
        """Each report is."""
        return True

    def ended(self) -> None:
        """Nothing is remembered."""


class WithinBudget:
    """Inspect as many steps as make the training longer by at most ``budget`` (a fraction, 0.03).

    These steps are inspected regardless of cost, up to a limit: the first two; the step after one with a new number of
    autograd nodes (if such steps recur at a fixed distance, the one at that distance); and the step after one with a
    new finding. A report without new findings is not delivered.

    The cost of an inspected step is its time minus the median time of the last steps that were not inspected, including
    everything between ``begins`` and ``ended``. ``clock``: seconds.
    """

    def __init__(self, budget: float, first: int, clock: Callable[[], float] = time.perf_counter) -> None:
        self._budget = budget
        self._first = max(first, _LEAST_FIRST)
        self._clock = clock
        self._plain: deque[float] = deque(maxlen=_RECENT)
        self._spent: float | None = None
        """By watching, in all; None until it is known how long an unwatched step takes."""
        self._cheapest = self._last = 0.0
        """The whole time of a watched step."""
        self._unestimated = 0
        self._began = self._start = clock()
        self._taken = self._step = self._extras = 0
        self._watched = False
        self._nodes = 0
        self._shapes: dict[int, int] = {}
        """Number of autograd nodes -> the last step that had so many, 0: one of those was watched."""
        self._due: set[int] = set()
        self._known: set[tuple[str, str, int]] = set()

    def begins(self, step: int) -> bool:
        """Whether the budget allows it, or something new is to be looked at."""
        self._taken += 1
        self._step, self._began = step, self._clock()
        self._nodes = self._sequence()
        due = step in self._due
        self._due = {one for one in self._due if one > step}
        self._watched = self._taken <= self._first or due or self._affordable()
        return self._watched

    def told(self, findings: Iterable[Finding]) -> bool:
        """Whether it is one of the first, or tells something new."""
        new = {_key(finding) for finding in findings} - self._known
        self._known |= new
        if new:
            self._look_at(self._step + 1)
        return bool(new) or self._taken <= self._first

    def ended(self) -> None:
        """Take down what it took, and how many nodes it made."""
        seconds, nodes = self._clock() - self._began, self._sequence() - self._nodes
        if self._watched:
            self._shapes[nodes] = 0
            self._took(seconds)
        else:
            self._plain.append(seconds)
            self._met(nodes)
        if self._spent is None and len(self._plain) >= _ENOUGH:
            # A run's first step warms everything up: what it cost is told by the cheapest of the first ones.
            self._spent = self._cost_of(self._cheapest) * self._unestimated

    def _took(self, seconds: float) -> None:
        self._last = seconds
        if self._spent is None:
            self._cheapest = min(seconds, self._cheapest) if self._unestimated else seconds
            self._unestimated += 1
        else:
            self._spent += self._cost_of(seconds)

    def _cost_of(self, seconds: float) -> float:
        return max(seconds - median(self._plain), 0.0)

    def _affordable(self) -> bool:
        if self._spent is None:
            return False
        left = self._budget * (self._began - self._start - self._spent) - self._spent
        return left >= 0 and self._cost_of(self._last) <= left  # What a step costs takes time to tell.

    def _met(self, nodes: int) -> None:
        before = self._shapes.get(nodes)
        if before == 0 or self._extras >= _EXTRAS:  # Nor is it remembered: each step may be of another size.
            return
        self._shapes[nodes] = self._step
        self._look_at(self._step + (1 if before is None else self._step - before))

    def _look_at(self, step: int) -> None:
        if self._extras < _EXTRAS:
            self._extras += 1
            self._due.add(step)

    @staticmethod
    def _sequence() -> int:
        return sequence_number() or 0


def _key(finding: Finding) -> tuple[str, str, int]:
    place = finding.locations[0] if finding.locations else None
    return (finding.rule, "", 0) if place is None else (finding.rule, place.filename, place.lineno)
