"""One inspected run of user code in the notebook, from opening the capture to the report."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from autograd_inspector.api.progress import Progress
from autograd_inspector.api.report import Report, report_of
from autograd_inspector.capture.session import Session
from autograd_inspector.capture.undisturbed.holding import Held
from autograd_inspector.frontends.notebook.outcome import say, shown_in
from autograd_inspector.frontends.notebook.shown_errors import ShownErrors
from autograd_inspector.kernel.options import Options
from autograd_inspector.kernel.shell import shell_in_kernel


class Run:
    """An open capture with the models and optimizers that the options name."""

    def __init__(
        self,
        shell: InteractiveShell,
        options: Options,
        stop: FrameType | None,
        held: Held,
        on_error: Callable[[BaseException], None] | None = None,
    ) -> None:
        """``on_error`` is called with an error that IPython is about to show."""
        self.options = options
        self._shell = shell
        self._unmet = {*options.models, *options.optimizers}
        self._shown_errors = ShownErrors(shell, on_error)
        followed = shell_in_kernel() is not None
        self._session = Session(values=options.values, stop=stop, yields=True, eager=options.eager, followed=followed)
        self._session.start(held=held)
        try:
            self._session.installation.made(self._shown_errors.end)
            self._shown_errors.begin()
            self._introduce()
        except BaseException:
            self.abandon()
            raise

    def report(self, error: BaseException | None) -> Report:
        """Close the capture and conclude."""
        with Progress(replaced=not self.options.quiet) as progress:
            try:
                self._introduce()
            finally:
                self._shown_errors.end()
                capture = self._session.finish(error)
            for name in sorted(self._unmet):
                say(f"no model or optimizer is named {name!r}")
            report = report_of(capture, ignore=self.options.ignore, progress=progress)
        shown_in(report, progress.place)
        return report

    def abandon(self) -> None:
        """Close the capture and forget it."""
        self._shown_errors.end()
        self._session.finish()

    def _introduce(self) -> None:
        """Make the named objects known: before the cell if they exist already, after it if it made them."""
        for name in tuple(self._unmet):
            value = self._value(name)
            if name in self.options.models and hasattr(value, "named_parameters"):
                self._session.modules.scan(value)
            elif name in self.options.optimizers and hasattr(value, "param_groups"):
                self._session.optimizers.id_of(value)
            else:
                continue
            self._unmet.discard(name)

    def _value(self, name: str) -> Any:
        first, *rest = name.split(".")
        value = self._shell.user_ns.get(first)
        for part in rest:
            value = getattr(value, part, None)
        return value
