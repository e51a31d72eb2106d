"""The line that says that a large capture is being analysed: after half a second, and gone when that is done.

A terminal's line is erased. A notebook takes no output back, and keeps one without data: there the line appears only
where the report takes its place.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from types import TracebackType
from typing import Any, Protocol, Self

_PATIENCE = 0.5
"""Seconds after which a line appears."""
_ERASE = "\r\x1b[K"
"""Back to the beginning of the terminal's line, and clear it."""


class Line(Protocol):
    """One line that can be written again, and taken away."""

    def show(self, text: str) -> None:
        """Put this text in its place."""

    def close(self, *, failed: bool) -> Any:
        """Take it away; returns the output where the report is to stand, None for none."""


class Progress:
    """Told how far the analysis is; shows it where the line does not stay: on a terminal, in a notebook."""

    def __init__(self, *, replaced: bool = False) -> None:
        """``replaced``: the report is displayed in the line's ``place``, before anything else is."""
        self._since = time.monotonic()
        self._replaced = replaced
        self._line: Line | None = None
        self.place: Any = None
        """In a notebook where a line was shown: its output, for the report."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._line is not None:
            self.place = self._line.close(failed=error is not None)

    def __call__(self, done: int, total: int) -> None:
        """So many of so many rules have looked at the capture."""
        if time.monotonic() - self._since < _PATIENCE:
            return
        self._line = self._line or _line(replaced=self._replaced)
        if self._line is not None:
            self._line.show(f"autograd_inspector: analysing the capture: {done} of {total} rules")


class _Terminal:
    """Standard error, where it is a terminal."""

    def show(self, text: str) -> None:
        # A line that wraps cannot be erased: only its last row would be.
        sys.stderr.write(_ERASE + text[: shutil.get_terminal_size().columns - 1])
        sys.stderr.flush()

    def close(self, *, failed: bool) -> None:  # noqa: ARG002 - an error is told below it
        sys.stderr.write(_ERASE)
        sys.stderr.flush()


class _Notebook:
    """An output of the cell, which says how far the analysis is until the report stands there."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, text: str) -> None:
        from IPython.display import display

        if self._handle is None:
            self._handle = display({"text/plain": text}, raw=True, display_id=True)
        else:
            self._handle.update({"text/plain": text}, raw=True)

    def close(self, *, failed: bool) -> Any:
        if failed:
            self._handle.update({"text/plain": "autograd_inspector: the capture was not analysed"}, raw=True)
        return self._handle


def _line(*, replaced: bool) -> Line | None:
    """None where a line would stay: in a file, in the log of a job, in a notebook that shows no report."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None and getattr(shell, "kernel", None) is not None:
        return _Notebook() if replaced else None
    # "!python train.py" in a cell has a terminal too, each of whose lines the notebook keeps.
    if "JPY_PARENT_PID" in os.environ:
        return None
    terminal = getattr(sys.stderr, "isatty", None)
    return _Terminal() if terminal is not None and terminal() else None
