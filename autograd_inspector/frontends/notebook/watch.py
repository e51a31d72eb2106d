"""The watch over cells: a capture opens before a cell that is to be inspected, and is reported after it.

IPython itself runs the cell. Its events tell when a cell begins and ends, also one that raised.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell

from autograd_inspector.api.errors import failure_of
from autograd_inspector.api.interim import certain_findings
from autograd_inspector.api.report import Report
from autograd_inspector.capture.progress import RecordingProgress
from autograd_inspector.capture.session import open_session
from autograd_inspector.frontends.notebook.header import header_of
from autograd_inspector.frontends.notebook.outcome import deliver, say
from autograd_inspector.frontends.notebook.run import Run
from autograd_inspector.frontends.notebook.trial import CellTrials
from autograd_inspector.interrupts import is_interrupt
from autograd_inspector.kernel.cell_ids import cell_ids, ran
from autograd_inspector.kernel.execution_count import running_count
from autograd_inspector.kernel.options import Options, silent
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.finding import Finding


class Watch:
    """Knows which cell runs, and inspects it when its header or ``%autograd_inspect on`` asks for that."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell
        self.every: Options | None = None
        """The options of ``%autograd_inspect on``."""
        self.count = 0
        """The execution count of the cell that runs."""
        self._cell: ExecutionInfo | None = None
        self.frame: FrameType | None = None
        """The frame that runs the cell: nothing outside it belongs to the program."""
        self._thread = 0
        self._run: Run | None = None
        self._trials: CellTrials | None = None
        self._judging = threading.Lock()
        self._judged: tuple[Capture | None, tuple[Finding, ...]] = None, ()
        """The latest interim capture that was asked for, and what it proves."""

    @property
    def raw_cell(self) -> str:
        """The text of the cell that runs, as it stands in the editor."""
        return "" if self._cell is None else str(self._cell.raw_cell)

    def busy(self) -> bool:
        """Whether a cell runs: what IPython executes now is part of it."""
        return self._cell is not None and not self._stale()

    @property
    def label(self) -> str:
        """The cell that runs as everything names it: ``In [3]``."""
        return f"In [{self.count}]" if self._cell is not None else ""

    def progress(self) -> RecordingProgress | None:
        """How far the open capture is, whoever opened it; may be asked for in any thread."""
        session = open_session()
        return None if session is None else session.progress

    def certain(self) -> tuple[tuple[Finding, ...], dict[str, str]]:
        """What the open capture proves already, and the ids of the cells it knows; may be asked for in any thread."""
        session = open_session()
        capture = None if session is None else session.interim
        if capture is None:
            return (), {}
        with self._judging:
            if self._judged[0] is not capture:
                self._judged = capture, certain_findings(capture, () if self._run is None else self._run.options.ignore)
            return self._judged[1], cell_ids(capture)

    def stop_recording(self) -> bool:
        """End the recording of the open capture, not the cell. Returns whether there was one."""
        session = open_session()
        if session is not None:
            session.stop()
        return session is not None

    @property
    def inspecting(self) -> bool:
        """Whether the cell that runs is inspected from its first line on."""
        return self._run is not None

    def before(self, info: ExecutionInfo) -> None:
        """IPython's ``pre_run_cell``."""
        if self.busy():
            return
        self.close()
        self._cell, self._thread, self.frame = info, threading.get_ident(), _cell_frame()
        self.count = running_count(self.shell, stored=info.store_history)
        ran(self.count, info.cell_id, info.raw_cell or "")
        options = header_of(info.raw_cell or "") or self.every
        if options is not None:
            _guarded(self._open, options)

    def after(self, result: ExecutionResult | None) -> None:
        """IPython's ``post_run_cell``, when the cell's own output is out."""
        if self._cell is None or not (result is None or self._ours(result)):
            return
        try:
            if self._run is not None:
                _guarded(self._close, self._run, result)
        finally:
            self._run = self._cell = self.frame = None
            self._judged = None, ()
            self._close_trials()

    def begin(self, options: Options) -> None:
        """``%autograd_inspect on``: every cell from now on."""
        self.every = options

    def stop(self) -> None:
        """``%autograd_inspect off``: no cell any more, nor the one that says so, unless its header asks."""
        self.every = None
        if self._run is not None and header_of(self.raw_cell) is None:
            self._abandon_run()

    def _open(self, options: Options) -> None:
        if options.try_fixes:
            self._trials = CellTrials(self.shell, options, self.raw_cell, self.count)
        self._run = Run(self.shell, options, self.frame, held=lambda: self._run is not None, on_error=self._failed)

    def _failed(self, error: BaseException) -> None:
        """The cell ended with an error, which is about to be shown: the report comes first."""
        if self._run is None or not self._is_the_cells():
            return
        run, self._run = self._run, None
        _guarded(self._deliver, run, error)

    def _is_the_cells(self) -> bool:
        """Whether IPython shows an error of the cell itself, not of a cell that the program runs."""
        return _cell_frame() is self.frame

    def _close(self, run: Run, result: ExecutionResult | None) -> None:
        error = None if result is None else result.error_before_exec or result.error_in_exec
        if result is not None and result.error_before_exec is not None:
            run.abandon()  # Nothing ran.
            return
        report = self._deliver(run, error)
        failure = failure_of(report, run.options.fail_on)
        if failure is not None and error is None and result is not None:
            result.error_in_exec = failure
            self.shell.last_execution_succeeded = False
            self.shell.showtraceback((type(failure), failure, None))

    def _deliver(self, run: Run, error: BaseException | None) -> Report:
        report, trials = run.report(error), self._trials
        if trials is not None:
            report = trials.tried(report)
        options = run.options
        explicit = options is not self.every
        if not explicit and not report.findings and not _did_something(report.capture):
            return report
        deliver(self.shell, report, options, cell=0 if explicit else self.count)
        if explicit and self.every is not None:
            # Whoever collects the reports of all cells wants those of cells with a header of their own, too.
            deliver(self.shell, report, silent(self.every), cell=self.count)
        return report

    def _ours(self, result: ExecutionResult) -> bool:
        # When the event loop itself fails, IPython makes a new record for the same cell.
        info: Any = result.info
        return info is self._cell or info.raw_cell == self.raw_cell

    def _stale(self) -> bool:
        """Whether the cell ended unannounced: a direct ``run_cell_async`` triggers no ``post_run_cell``."""
        if threading.get_ident() != self._thread or self.frame is None:
            return False
        return not any(frame is self.frame for frame in _stack())

    def close(self) -> None:
        """Forget the cell and its capture."""
        self._abandon_run()
        self._close_trials()
        self._cell = self.frame = None

    def _close_trials(self) -> None:
        trials, self._trials = self._trials, None
        if trials is not None:
            trials.close()

    def _abandon_run(self) -> None:
        run, self._run = self._run, None
        if run is not None:
            _guarded(run.abandon)


def _did_something(capture: Any) -> bool:
    return bool(capture.ops or capture.backwards or capture.steps or capture.events)


def _stack() -> Any:
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - without copying the stack
    while frame is not None:
        yield frame
        frame = frame.f_back


def _cell_frame() -> FrameType | None:
    return next((frame for frame in _stack() if frame.f_code.co_name == "run_cell_async"), None)


def _guarded(step: Callable[..., object], *args: Any) -> None:
    """Our own failure is one line; the cell's result stands."""
    try:
        step(*args)
    except Exception as failure:
        if is_interrupt(failure) or os.environ.get("AUTOGRAD_INSPECTOR_STRICT"):
            raise
        say(f"no report on this cell ({type(failure).__name__}: {failure}); its result is not affected")
