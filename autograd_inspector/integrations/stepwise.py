"""Which training steps are inspected, and one capture around each: what the trainers' integrations share."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from torch import nn

from autograd_inspector.api.ranks import RanksReport, left_behind
from autograd_inspector.api.report import Report, report_of
from autograd_inspector.capture.session import current
from autograd_inspector.capture.undisturbed.holding import by
from autograd_inspector.capture.undisturbed.warnings.own import InspectorWarning
from autograd_inspector.capture.vitals.collector import Vitals as Collector
from autograd_inspector.capture.vitals.freezing import frozen
from autograd_inspector.integrations.delivery import FORMATS, LOGGER, deliver, deliver_ranks
from autograd_inspector.integrations.options import Options, captures_each, check_options, schedule_of
from autograd_inspector.integrations.step_captures import StepCaptures
from autograd_inspector.integrations.vitals_files import write_tables
from autograd_inspector.interrupts import is_interrupt
from autograd_inspector.messages import text_of
from autograd_inspector.model.vitals import Vitals

_PATIENCE = 30.0
"""Seconds that rank 0 waits, when its training has ended, for the reports of the others."""
_RUNS = count()
"""Ranks train in the same order: the number of a run is the same on all."""

Log = Callable[[int, Report, str], None]
"""Told the step, its report and the report in a few lines: puts them where the trainer logs."""


_UNWATCHED = (
    "step %d raised %s and was not captured; with failing=True each step is, and the one that raises is explained"
)


class Stepwise:
    """The captures of one training run. Whatever fails in here is one warning; the training goes on.

    ``told_of_rest``: the trainer calls ``rest()``, ``drop()`` or ``finish()`` when something else than training begins,
    so a capture may stay open between two steps.
    """

    def __init__(self, log: Log, options: Options, *, told_of_rest: bool = False) -> None:
        check_options(options)
        self._told_of_rest = told_of_rest
        self.report: Report | None = None
        """The report of the last step that was reported."""
        self.step = 0
        """Which step that was, counted from 1."""
        self._log = log
        self._options = options
        self._captures = StepCaptures(by(self), options, None)
        self._open = 0
        """The step that runs; 0: none."""
        self._schedule = schedule_of(options)
        self._chosen = False
        """Whether the step that runs is to be reported."""
        self._off = False
        self._aside = False
        """On a rank that speaks only of a failure that it can explain."""
        self._folder = Path()
        self._vitals: Collector | None = None
        self.ranks: RanksReport | None = None
        """On rank 0 of several, when the run has ended: the report of all."""
        self._run = 0
        self._own: Report | None = None
        """Of the last step that each rank has chosen."""

    def start(self, folder: str | os.PathLike[str], *, main: bool) -> None:
        """A run begins; ``main``: on rank 0."""
        self.drop()
        self._schedule = schedule_of(self._options)
        self._off = False
        self._run, self._own = next(_RUNS), None
        self._aside = not (main or self._options.get("all_ranks", False))
        self._folder = Path(self._options.get("directory") or Path(folder) / "autograd-inspector")
        self._vitals = Collector() if self._options.get("vitals", False) else None
        self._captures = StepCaptures(by(self), self._options, self._vitals)

    def finish(self) -> None:
        """The run is over: nothing stays open, and the vitals are written."""
        self.drop()
        if self._vitals is not None:
            self._guarded(write_tables, self.vitals, self._folder)
        if self._own is not None and not self._off:
            self._guarded(self._meet, self._own)
        self._own = None

    @property
    def vitals(self) -> Vitals:
        """The statistics of the run so far."""
        return Vitals() if self._vitals is None else frozen(self._vitals)

    def begin(self, step: int, models: Iterable[nn.Module], optimizers: Iterable[Any]) -> None:
        """That step begins."""
        self._chosen = self._schedule.begins(step)
        if self._chosen or self._open or not self._captures.goes_on:
            self.drop()
        self._open = step
        if not self._off and (self._chosen or captures_each(self._options)):
            self._guarded(self._begin, models, optimizers)

    def end(self) -> None:
        """The step has ended well: report on it if it was chosen, else forget it."""
        if self._chosen:
            self._guarded(self._report, None)
        self._captures.ended()
        if not self._captures.goes_on:
            self.drop()
        self._open = 0
        self._schedule.ended()

    def failed(self, error: BaseException) -> None:
        """An exception ends the run. One that is raised inside a step is explained; a user's interrupt is not."""
        self._own = None
        if self._open and self.open and isinstance(error, Exception):
            self._guarded(self._report, error)
        elif self._open and not self._off and not self._aside and isinstance(error, Exception):
            LOGGER.warning(_UNWATCHED, self._open, type(error).__name__)
        self.drop()

    def drop(self) -> None:
        """Close a capture and forget it."""
        self._guarded(self._captures.close)
        self._open = 0

    def rest(self) -> None:
        """Something else than training begins: evaluation need not be recorded. A step that is under way goes on."""
        if not self._open:
            self.drop()

    def stop(self, why: str) -> None:
        """Inspect nothing more of this run, and say why in one line."""
        self._off = True
        self.drop()
        try:
            warnings.warn(f"autograd_inspector: {why}; steps are not inspected", InspectorWarning, stacklevel=2)
        except InspectorWarning as warning:
            # The program turns warnings into errors. Ours must not become one of its own.
            LOGGER.warning(warning)

    @property
    def open(self) -> bool:
        """Whether a capture is open."""
        return self._captures.session is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None:
            self.failed(error)
        self.drop()

    def _begin(self, models: Iterable[nn.Module], optimizers: Iterable[Any]) -> None:
        if self._captures.session is None and current() is not None:
            self.stop("training runs inside a capture that is open already, which sees all of it")
            return
        self._captures.begin(self._open, models, optimizers, lasting=self._told_of_rest and not self._chosen)

    def _report(self, error: Exception | None) -> None:
        session = self._captures.session
        if session is None:
            return
        capture = session.finish(error)
        self._captures.session = None
        self._off = self._off or bool(session.failure)
        report = report_of(capture, ignore=tuple(self._options.get("ignore", ())))
        if error is None and (self._options.get("every") != "auto" or self._open <= self._options.get("first", 1)):
            self._own = report  # Within a budget each rank chooses further steps of its own.
        if self._aside and (error is None or all(finding.severity != "error" for finding in report.findings)):
            return
        if error is None and not self._schedule.told(report.findings):
            return
        self.step, self.report = self._open, report
        text = deliver(self.step, self.report, self._folder, tuple(self._options.get("formats", FORMATS[:2])))
        self._log(self.step, self.report, text)

    def _meet(self, own: Report) -> None:
        """Rank 0 writes the report of all ranks; the others leave theirs, and wait for nobody."""
        self.ranks = left_behind(own, timeout=_PATIENCE, name=f"trained/{self._run}")
        if self.ranks is not None:
            deliver_ranks(self.ranks, own.findings, self._folder, tuple(self._options.get("formats", FORMATS[:2])))

    def _guarded(self, action: Callable[..., None], *args: Any) -> None:
        try:
            action(*args)
        except Exception as failure:
            if is_interrupt(failure) or os.environ.get("AUTOGRAD_INSPECTOR_STRICT"):
                raise
            self.stop(text_of(failure))


class Reported:
    """What every integration tells of the run that it follows."""

    _steps: Stepwise

    @property
    def report(self) -> Report | None:
        """The last report, None when there was none yet."""
        return self._steps.report

    @property
    def ranks(self) -> RanksReport | None:
        """Of several ranks: on rank 0, when the training has ended, the report of all on the last chosen step."""
        return self._steps.ranks

    @property
    def step(self) -> int:
        """The step of the last report."""
        return self._steps.step

    @property
    def vitals(self) -> Vitals:
        """Statistics over the steps captured so far; empty without ``vitals=True``."""
        return self._steps.vitals
