"""State that a load let two optimizers have together: both go on writing to it, each for parameters of its own.

``load_state_dict()`` of an optimizer copies no tensor that has the right dtype and device already.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from math import prod

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.event import Step
from autograd_inspector.model.placement_rows import StateEntry
from autograd_inspector.model.program_events import StateLoaded, StateSaved


class StateOfTwo(Struct, frozen=True):
    """``load`` gave its optimizer the tensors of ``other`` (``keys``), and ``steps``, one of each, wrote to them since.

    ``saved``: where the state of the other one was asked for, if that was seen.
    """

    load: StateLoaded
    other: int
    keys: tuple[str, ...]
    tensors: tuple[int, ...]
    steps: tuple[Step, Step]
    saved: StateSaved | None


def state_of_two(analysis: Analysis) -> Iterator[StateOfTwo]:
    """Each load once. An optimizer that only hands its state over, and steps no more, shares it with nobody."""
    loads = analysis.capture.events_of(StateLoaded)
    if not loads:
        return
    shared = _shared(analysis)
    told: set[tuple[int, int]] = set()
    for load in reversed(loads):
        for (one, other), (keys, tensors) in shared.items():
            steps = _since(analysis, load, one, other) if one == load.optimizer and (other, one) not in told else None
            if steps is not None and (one, other) not in told:
                told.add((one, other))
                yield StateOfTwo(load, other, tuple(keys), tuple(tensors), steps, _saved(analysis, other, load))


def _shared(analysis: Analysis) -> dict[tuple[int, int], tuple[dict[str, None], dict[int, None]]]:
    """(an optimizer, another one) -> the entries that they have together, and the parameters of the first."""
    owners: dict[tuple[int, str], dict[int, int]] = defaultdict(dict)
    for row in analysis.capture.placement.rows:
        for entry in row.state if row.optimizer >= 0 else ():
            if _counts(entry):
                owners[entry.storage, entry.key].setdefault(row.optimizer, row.tensor)
    shared: dict[tuple[int, int], tuple[dict[str, None], dict[int, None]]] = {}
    for (_, key), holders in owners.items():
        if len(holders) > 1 and len(set(holders.values())) == len(holders):
            for one, other in ((one, other) for one in holders for other in holders if one != other):
                keys, tensors = shared.setdefault((one, other), ({}, {}))
                keys[key], tensors[holders[one]] = None, None
    return shared


def _counts(entry: StateEntry) -> bool:
    """Whether steps write it in place, and it is no number of steps."""
    return entry.storage >= 0 and prod(entry.shape) > 1 and entry.written > 0


def _since(analysis: Analysis, load: StateLoaded, one: int, other: int) -> tuple[Step, Step] | None:
    steps = [
        next((s for s in analysis.timeline.steps_of(number).since(load.at) if not s.error), None)
        for number in (one, other)
    ]
    mine, theirs = steps
    return (mine, theirs) if mine is not None and theirs is not None else None


def _saved(analysis: Analysis, other: int, load: StateLoaded) -> StateSaved | None:
    calls = (e for e in reversed(analysis.capture.events_of(StateSaved)) if e.optimizer == other and e.at <= load.at)
    return next(calls, None)
