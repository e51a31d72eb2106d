"""The one hub of this kernel: when it begins, and what is put into it."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.interrupts import is_interrupt
from autograd_inspector.kernel.cell_ids import runs
from autograd_inspector.kernel.hub.hub import Hub
from autograd_inspector.kernel.shell import shell_in_kernel

P = ParamSpec("P")
_log = logging.getLogger(__name__)


@cache
def _begun() -> Hub:
    from autograd_inspector.kernel.hub.requests import listen

    hub = Hub()
    listen(hub)
    hub.channel.open()
    shell_in_kernel().events.register("post_run_cell", lambda _result=None: _flush())
    return hub


_pending: list[ReportData] = []
"""The last capture of ``inspect()`` in the cell that runs. Earlier ones are not listed: a loop makes thousands."""


def _quietly(step: Callable[P, None]) -> Callable[P, None]:
    """The user's cell goes on, whatever becomes of the list."""

    @wraps(step)
    def tried(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            step(*args, **kwargs)
        except Exception as failure:
            if is_interrupt(failure) or os.environ.get("AUTOGRAD_INSPECTOR_STRICT"):
                raise
            _log.warning("autograd_inspector: the panel could not be notified of a capture", exc_info=True)

    return tried


@_quietly
def add(report: ReportData) -> None:
    """List a report that was shown, or that a magic made. Nothing outside of a kernel."""
    shell = shell_in_kernel()
    if shell is not None:
        runs(shell)
        _pending.clear()
        _begun().captures.add(report)


@_quietly
def made(report: ReportData) -> None:
    """List a report when its cell ends, unless another follows in that cell."""
    if shell_in_kernel() is not None:
        _begun()
        _pending[:] = [report]


def _flush() -> None:
    if _pending:
        add(_pending[-1])


@_quietly
def connect(watch: Any) -> None:
    """The IPython extension was loaded."""
    if shell_in_kernel() is not None:
        _begun().watch = watch
        tell_settings()


@_quietly
def disconnect() -> None:
    """It was unloaded; the captures stay."""
    if shell_in_kernel() is not None:
        _begun().watch = None
        tell_settings()


@_quietly
def tell_settings() -> None:
    """Cells are inspected otherwise from now on."""
    if shell_in_kernel() is not None:
        _begun().tell_settings()
