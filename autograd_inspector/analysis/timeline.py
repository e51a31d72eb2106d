"""What happened between two moments of a capture, and to which tensor: looked up, not searched for.

A moment is an op index: how many ops had run by then.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Generic, TypeVar, overload

from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.event import GradRead, GradWrite, Step
from autograd_inspector.model.program_events import (
    GradientsGone,
    ModuleCleared,
    OptimizerModeMet,
    StateLoaded,
    ZeroGradCalled,
)

T = TypeVar("T")


class Moments(Generic[T]):
    """Things that happened, in the order of their moments; ``order``: the place of each among all of its kind."""

    def __init__(self, things: Iterable[tuple[int, T]], moment: Callable[[T], int]) -> None:
        placed = sorted(things, key=lambda pair: moment(pair[1]))
        self.all = [thing for _, thing in placed]
        self.order = [place for place, _ in placed]
        self._at = [moment(thing) for thing in self.all]

    def within(self, start: int, end: int) -> Sequence[T]:
        """Those from ``start`` to ``end``, both included."""
        return [self.all[place] for place in self.places(start, end)]

    def places(self, start: int, end: int) -> range:
        """Where those stand in ``all``."""
        return range(bisect_left(self._at, start), bisect_right(self._at, end))

    def since(self, start: int) -> Iterator[T]:
        """Those from ``start`` on, one after the other."""
        return (self.all[place] for place in range(bisect_left(self._at, start), len(self.all)))

    def before(self, end: int) -> Iterator[T]:
        """Those before ``end``, the latest first."""
        return (self.all[place] for place in range(bisect_left(self._at, end) - 1, -1, -1))

    def passed(self, moment: int) -> int:
        """How many there had been by then, that moment included."""
        return bisect_right(self._at, moment)


def together(parts: Iterable[Moments[T]], start: int, end: int) -> list[T]:
    """What lies in several of them from ``start`` to ``end``, both included, in program order."""
    by_order = {part.order[place]: part.all[place] for part in parts for place in part.places(start, end)}
    return [by_order[place] for place in sorted(by_order)]


class Leading(Sequence[T]):
    """The first so many of some things, without a copy of them."""

    def __init__(self, things: Sequence[T], count: int) -> None:
        self._things, self._count = things, count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        """Counted from the last of them where it is negative."""
        places = range(self._count)[index]
        return self._things[places] if isinstance(places, int) else [self._things[place] for place in places]


_NEVER: Moments[object] = Moments((), lambda _: 0)


class Timeline:
    """The events of a capture by when they happened. Each index is made on first use."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._empty: dict[int, frozenset[int]] = {}
        self._stale: dict[int, dict[int, int]] = {}

    @cached_property
    def runs(self) -> Moments[Backward]:
        """All engine runs, by when they began."""
        return Moments(enumerate(self._capture.backwards), lambda run: run.start)

    @cached_property
    def backwards(self) -> Moments[Backward]:
        """The runs of ``backward()`` that did not raise, by when they began."""
        runs = [pair for pair in enumerate(self._capture.backwards) if pair[1].api == "backward" and not pair[1].error]
        return Moments(runs, lambda run: run.start)

    def completed_before(self, run: Backward) -> Sequence[Backward]:
        """The runs before one that the program began, and that did not raise."""
        return Leading(self._completed, bisect_left(self._completed, run.index, key=lambda other: other.index))

    @cached_property
    def _completed(self) -> list[Backward]:
        return [run for run in self._capture.backwards if not run.error and run.nested_in < 0]

    def first_at(self, site: int) -> float:
        """When the first run began at a site; infinity where none did."""
        return self._first.get(site, math.inf)

    @cached_property
    def _first(self) -> dict[int, int]:
        first_starts: dict[int, int] = {}
        for run in self._capture.backwards:
            first_starts.setdefault(run.site, run.start)
        return first_starts

    def next_run(self, run: Backward) -> Backward | None:
        """The first engine run that began after one was over."""
        return next((other for other in self.runs.since(run.end) if other.index > run.index), None)

    @cached_property
    def steps(self) -> Moments[Step]:
        """Optimizer steps, by when they were over."""
        return Moments(enumerate(self._capture.steps), lambda step: step.at)

    def steps_of(self, optimizer: int) -> Moments[Step]:
        """The steps of one optimizer."""
        return self._steps.get(optimizer) or _never()

    @cached_property
    def _steps(self) -> dict[int, Moments[Step]]:
        return _parted(self._capture.steps, lambda step: (step.optimizer,), lambda step: step.at)

    def runs_to(self, tensor: int) -> Moments[Backward]:
        """The runs that reached a leaf, by when they began."""
        return self._runs_to.get(tensor) or _never()

    @cached_property
    def _runs_to(self) -> dict[int, Moments[Backward]]:
        return _parted(self._capture.backwards, lambda run: dict.fromkeys(run.reached), lambda run: run.start)

    @cached_property
    def reads(self) -> Moments[GradRead]:
        """All reads of a ``.grad``."""
        return Moments(enumerate(self._capture.grad_reads), lambda read: read.at)

    def backwards_to(self, tensor: int) -> Moments[Backward]:
        """The runs of ``backward()`` that reached a leaf and did not raise, by when they began."""
        return self._backwards_to.get(tensor) or _never()

    @cached_property
    def _backwards_to(self) -> dict[int, Moments[Backward]]:
        return _parted(self.backwards.all, lambda run: dict.fromkeys(run.reached), lambda run: run.start)

    def empty(self, run: Backward) -> frozenset[int]:
        """The leaves of a run whose ``.grad`` was still None afterwards."""
        empty_leaves = self._empty.get(run.index)
        if empty_leaves is None:
            empty_leaves = self._empty[run.index] = frozenset(run.empty)
        return empty_leaves

    def stale(self, run: Backward) -> dict[int, int]:
        """The leaves of a run that had a gradient before, each with its place among them."""
        stale_places = self._stale.get(run.index)
        if stale_places is None:
            stale_places = self._stale[run.index] = {tensor: place for place, tensor in enumerate(run.stale)}
        return stale_places

    def reads_of(self, tensor: int) -> Moments[GradRead]:
        """When the program read the ``.grad`` of a tensor."""
        return self._reads.get(tensor) or _never()

    @cached_property
    def _reads(self) -> dict[int, Moments[GradRead]]:
        return _parted(self._capture.grad_reads, lambda read: (read.tensor,), lambda read: read.at)

    def writes_of(self, tensor: int) -> Moments[GradWrite]:
        """When the program assigned the ``.grad`` of a tensor."""
        return self._writes.get(tensor) or _never()

    @cached_property
    def _writes(self) -> dict[int, Moments[GradWrite]]:
        return _parted(self._capture.grad_writes, lambda write: (write.tensor,), lambda write: write.at)

    def clearings_of(self, optimizer: int) -> Moments[ZeroGradCalled]:
        """The calls of an optimizer's ``zero_grad()``."""
        return self._clearings.get(optimizer) or _never()

    @cached_property
    def _clearings(self) -> dict[int, Moments[ZeroGradCalled]]:
        calls = [call for call in self._capture.events_of(ZeroGradCalled) if call.optimizer >= 0]
        return _parted(calls, lambda call: (call.optimizer,), lambda call: call.at)

    def modules_cleared(self, tensor: int) -> Moments[ModuleCleared | GradientsGone]:
        """The calls of ``zero_grad()`` of modules that have a parameter, and what compiled code cleared unseen."""
        return self._modules_cleared.get(tensor) or _never()

    @cached_property
    def _modules_cleared(self) -> dict[int, Moments[ModuleCleared | GradientsGone]]:
        called, gone = self._capture.events_of(ModuleCleared), self._capture.events_of(GradientsGone)
        calls: list[ModuleCleared | GradientsGone] = sorted([*called, *gone], key=lambda call: call.at)
        return _parted(calls, lambda call: dict.fromkeys(call.tensors), lambda call: call.at)

    def loads_of(self, optimizer: int) -> Moments[StateLoaded]:
        """When state was loaded into an optimizer."""
        return self._loads.get(optimizer) or _never()

    @cached_property
    def _loads(self) -> dict[int, Moments[StateLoaded]]:
        return _parted(self._capture.events_of(StateLoaded), lambda load: (load.optimizer,), lambda load: load.at)

    def trains(self, optimizer: int, at: int) -> bool | None:
        """Whether a schedule-free optimizer was in train mode at a moment; None: it has no such mode."""
        last = next(self._modes[optimizer].before(at + 1), None) if optimizer in self._modes else None
        return None if last is None else last.training

    def trained_before(self, optimizer: int, at: int) -> bool:
        """Whether it had been in train mode by then."""
        return optimizer in self._modes and any(met.training for met in self._modes[optimizer].before(at + 1))

    @cached_property
    def _modes(self) -> dict[int, Moments[OptimizerModeMet]]:
        met = self._capture.events_of(OptimizerModeMet)
        return _parted(met, lambda event: (event.optimizer,), lambda event: event.at)

    @cached_property
    def held_by_several(self) -> dict[int, list[int]]:
        """Tensors that several optimizers hold -> those."""
        return {tensor: holders for tensor, holders in self._holders.items() if len(holders) > 1}

    def holders(self, tensors: Iterable[int]) -> list[int]:
        """The optimizers that hold some of the tensors."""
        return sorted({optimizer for tensor in tensors for optimizer in self._holders.get(tensor, ())})

    @cached_property
    def _holders(self) -> dict[int, list[int]]:
        holders: dict[int, list[int]] = {}
        for number, optimizer in enumerate(self._capture.placement.optimizers):
            for tensor in dict.fromkeys(optimizer.held):
                holders.setdefault(tensor, []).append(number)
        return holders


def _never() -> Moments[T]:
    return _NEVER  # type: ignore[return-value]


def _parted(
    things: Iterable[T], keys: Callable[[T], Iterable[int]], moment: Callable[[T], int]
) -> dict[int, Moments[T]]:
    parts: dict[int, list[tuple[int, T]]] = {}
    for place, thing in enumerate(things):
        for key in keys(thing):
            parts.setdefault(key, []).append((place, thing))
    return {key: Moments(members, moment) for key, members in parts.items()}
