"""``inspect()``: run a block once and report on it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Literal, Self

from autograd_inspector.api.progress import Progress
from autograd_inspector.api.report import Report, report_of
from autograd_inspector.capture.session import Session, caller_frame
from autograd_inspector.capture.torch_private.compiled import keep_out_of_whole
from autograd_inspector.capture.undisturbed.holding import by, in_block
from autograd_inspector.kernel.shell import shell_in_kernel
from autograd_inspector.messages import text_of
from autograd_inspector.own_files import is_own


class inspect:  # noqa: N801 - a context manager reads as a verb
    """Record the autograd activity of a block.

    ::

        with autograd_inspector.inspect() as inspection:
            step()
        inspection.report

    ``values=True`` lets the inspector read tensor values (NaN, zero gradients). ``ignore`` drops findings by rule code
    or prefix ("AG406", "AG4"). ``compiled="eager"`` runs compiled functions uncompiled, so that every op is seen.
    ``timeout``: with several ranks, a rank that stays at one place for this many seconds writes to stderr where it is
    and what it waits for; 0 turns this off. The report is available even if the block raised, and the exception passes
    through unchanged. An object that is used for a second block has the report of that block. Raises
    NestedInspectionError inside another block.
    """

    def __init__(
        self,
        *,
        values: bool = False,
        ignore: tuple[str, ...] | list[str] = (),
        compiled: Literal["as it is", "eager"] = "as it is",
        timeout: float = 0.0,
        _above: int = 1,
        _around: bool = False,
    ) -> None:
        if compiled not in {"as it is", "eager"}:
            raise ValueError(f"autograd_inspector: compiled={compiled!r} is neither 'as it is' nor 'eager'")
        if not timeout >= 0:
            raise ValueError(f"autograd_inspector: timeout={timeout!r} must be a number of seconds")
        # Stories end in the frame that opens the block: `_above` this one, 1 unless something opens it for another.
        # `_around` a whole program or test, which may use inspect() itself.
        self._values, self._around, self._eager = values, _around, compiled == "eager"
        self._session = self._session_in(caller_frame(_above))
        self._ignore, self._timeout = tuple(ignore), timeout
        self._waiting = contextlib.ExitStack()
        """Looks at a rank that may stand still."""
        self._report: Report | None = None
        self._unmade = ""
        """What was raised instead of making the report."""

    @property
    def report(self) -> Report:
        """The report on the block; raises RuntimeError while the block is still running."""
        if self._report is not None:
            return self._report
        if not self._session.over:
            raise RuntimeError("autograd_inspector: the report is available after the `with` block ends")
        why = "the end of the block was not reached, as when an interrupt arrives right before it"
        if self._unmade:
            why = f"{self._unmade} was raised while the block was closing"
        raise RuntimeError(f"autograd_inspector: there is no report: {why}")

    def try_fixes(self, program: Callable[[], object], *, limit: float = 60.0) -> Report:
        """Run a program, which did what the block did, again with the edits of each finding; the report with verdicts.

        ::

            with autograd_inspector.inspect() as inspection:
                train()
            inspection.try_fixes(train).findings[0].verified  # "cured"

        Each trial is a forked copy of this process, in which functions have their new code: models and other objects
        are as they are here, what the program changes is gone afterwards, what it writes to files stays. One may take
        ``limit`` seconds. Raises RuntimeError where a copy cannot run it (no fork(), CUDA is in use, several ranks).
        """
        from autograd_inspector.api.in_a_copy import rerunning
        from autograd_inspector.api.trials import candidates, tried

        report = self.report
        self._report = tried(report, candidates(report), rerunning(self._again(program), limit), lambda _: None)
        return self._report

    def _again(self, program: Callable[[], object]) -> Callable[[], Report]:
        """The program in a block with the same options."""

        def run() -> Report:
            compiled: Literal["as it is", "eager"] = "eager" if self._eager else "as it is"
            with (
                contextlib.suppress(Exception),
                inspect(values=self._values, ignore=self._ignore, compiled=compiled, timeout=self._timeout) as again,
            ):
                program()
            return again.report

        return run

    def _session_in(self, frame: FrameType) -> Session:
        followed = shell_in_kernel() is not None
        return Session(values=self._values, stop=frame, yields=self._around, eager=self._eager, followed=followed)

    def __enter__(self) -> Self:
        frame = _outside(caller_frame(0))
        session = self._session if self._session.new else self._session_in(caller_frame(1))
        session.start(held=in_block(frame) or by(self), by_program=not self._around)
        self._session, self._report, self._unmade = session, None, ""
        if self._timeout:
            from autograd_inspector.api.waiting import standing_still

            self._waiting.enter_context(standing_still(self._timeout, ""))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self._waiting.close()
            with Progress() as progress:
                self._report = report_of(self._session.finish(error), ignore=self._ignore, progress=progress)
        except BaseException as failure:
            self._session.abandon()  # An interrupt may have struck before it was finished.
            self._unmade = text_of(failure)
            raise
        _listed(self._report)


keep_out_of_whole(inspect.__init__, inspect.__enter__, inspect.__exit__)  # A compiled function may open a block.


def _outside(frame: FrameType) -> FrameType:
    """The frame with the ``with`` statement: the first that is not of this package."""
    while frame.f_back is not None and is_own(frame):
        frame = frame.f_back
    return frame


def _listed(report: Report) -> None:
    """In a kernel the panel lists it; IPython is not imported for that."""
    if "IPython" in sys.modules:
        from autograd_inspector.kernel.hub.kernel import made

        made(report)
