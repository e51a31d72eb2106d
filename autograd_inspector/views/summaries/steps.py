"""The training steps of a report in a few lines: how many, what was alike in all, what changed and when."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import takewhile

from msgspec import Struct

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.model.steps_history import History, Runs, StepChange
from autograd_inspector.model.wording import counted, join_names
from autograd_inspector.views.display_text import op_name, size

FEWEST = 3
"""Of fewer steps there is nothing to compare."""
_NAMES = 4
_UNSEEN = "not seen: of some parameters no version counter moved"
"""The step of a group that moves none may have written or not, and so may the whole of it."""


class Row(Struct, frozen=True):
    """One figure of every step: what it is, its value or its range in words, and the values where they differ."""

    label: str
    said: str
    values: Runs = Runs()


class Told(Struct, frozen=True):
    """A change: the step, what was new in it, and the line (a site of the capture, -1 for none)."""

    step: int
    said: str
    site: int = -1


class StepsShown(Struct, frozen=True):
    """``said`` is one sentence about how many there were."""

    said: str
    rows: tuple[Row, ...]
    changes: tuple[Told, ...]
    untold: int


def steps_of(report: ReportData) -> StepsShown | None:
    """What to show; None where the program made fewer than three steps."""
    history = report.history
    if len(history) < FEWEST:
        return None
    return StepsShown(
        _counted(history, raised=bool(report.capture.error)),
        tuple(_rows(history)),
        tuple(Told(change.step, _changed(report, change), change.site) for change in history.changes),
        history.untold,
    )


def extremes(values: Runs, most: int) -> list[tuple[int, int]]:
    """(index, value) of at most so many values, of each stretch the one furthest from the typical: no spike is lost."""
    length = len(values)
    count, typical = min(length, most), _typical(values)
    points = []
    runs = deque(values.stretches)
    for bucket in range(count):
        start, end = bucket * length // count, (bucket + 1) * length // count
        while runs[0][1] <= start:
            runs.popleft()
        within = takewhile(lambda run: run[0] < end, runs)  # noqa: B023 - used up before `end` changes
        points.append(max(((max(s, start), v) for s, _, v in within), key=lambda pair: abs(pair[1] - typical)))
    return points


def _typical(values: Runs) -> int:
    """The lower median: of one run of equal values after the other, the one in which the middle lies."""
    middle = (len(values) - 1) // 2
    passed = 0
    for value, times in sorted(zip(values.values, values.times, strict=True)):
        passed += times
        if passed > middle:
            return value
    return 0


def _counted(history: History, *, raised: bool) -> str:
    text = counted(history.steps, "complete step")
    if history.unfinished:
        step = f"step {history.steps + 1:,}"
        text += f"; the program raised in {step}" if raised else f"; {step} was not completed"
    return text


def _rows(history: History) -> Iterator[Row]:
    yield _row("autograd nodes", history.nodes)
    yield _row("saved for backward", history.saved_bytes, size)
    yield _row("parameters with a gradient", history.gradients(), history=history)
    yield _row("parameters written", history.written(), history=history, unknown=_UNSEEN)
    yield _row("backward runs", history.backwards)
    yield _row("torch calls", history.ops)


def _row(
    label: str,
    runs: Runs,
    how: Callable[[int], str] | None = None,
    history: History | None = None,
    unknown: str = "not known",
) -> Row:
    """``how`` says a value; with a ``history`` it is a part of the parameters. ``unknown``: of no step it is known."""
    if runs.values and max(runs.values) < 0:
        return Row(label, unknown)
    values = Runs.of(_filled(runs))
    low, high = min(values.values, default=0), max(values.values, default=0)
    bounds = [how(value) if how is not None else f"{value:,}" for value in dict.fromkeys((low, high))]
    totals = set(history.parameters.values) - {0} if history is not None else set()
    of = f" of {totals.pop():,}" if len(totals) == 1 else ""
    return Row(label, " to ".join(bounds) + of, values if low != high else Runs())


def _filled(values: Runs) -> Iterator[tuple[int, int, int]]:
    """What is not known of a step (-1) is taken to be as before, at first as in the first one that is known."""
    last = next((value for value in values.values if value >= 0), 0)
    for start, end, value in values.stretches:
        last = value if value >= 0 else last
        yield start, end, last


def _changed(report: ReportData, change: StepChange) -> str:
    if change.kind == "graph":
        more = f", and so did {counted(change.more, 'other op')}" if change.more else ""
        return f"`{op_name(change.op)}` ran here for the first time, with autograd recording{more}"
    clauses = []
    for tensors, what in ((change.lost, "no gradient any more"), (change.gained, "a gradient for the first time")):
        if tensors:
            clauses.append(f"{_named(report, tensors)} had {what}")
    return "; ".join(clauses)


def _named(report: ReportData, tensors: tuple[int, ...]) -> str:
    return join_names(map(report.capture.display_names.in_table, tensors), _NAMES)
