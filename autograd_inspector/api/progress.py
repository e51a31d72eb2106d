"""The line that says that a large capture is being analysed: after half a second, and gone when that is done."""

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

    def close(self) -> Any:
        """Take it away; returns the output that it leaves, which something else can be shown in, None for none."""


class Progress:
    """Told how far the analysis is; shows it where a line can be taken away again: on a terminal, in a notebook."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._line: Line | None = None
        self.place: Any = None
        """In a notebook where a line was shown: an output, empty now, for what was waited for."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._line is not None:
            self.place = self._line.close()

    def __call__(self, done: int, total: int) -> None:
        """So many of so many rules have looked at the capture."""
        if time.monotonic() - self._since < _PATIENCE:
            return
        self._line = self._line or _line()
        if self._line is not None:
            self._line.show(f"autograd_inspector: analysing the capture: {done} of {total} rules")


class _Terminal:
    """Standard error, where it is a terminal."""

    def show(self, text: str) -> None:
        # A line that wraps cannot be erased: only its last row would be.
        sys.stderr.write(_ERASE + text[: shutil.get_terminal_size().columns - 1])
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write(_ERASE)
        sys.stderr.flush()


class _Notebook:
    """An output of the cell; closed, it has nothing that a viewer would give room to."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, text: str) -> None:
        from IPython.display import display

        if self._handle is None:
            self._handle = display({"text/plain": text}, raw=True, display_id=True)
        else:
            self._handle.update({"text/plain": text}, raw=True)

    def close(self) -> Any:
        self._handle.update({}, raw=True)
        return self._handle


def _line() -> Line | None:
    """None where a line would stay: in a file, in the log of a job."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None and getattr(shell, "kernel", None) is not None:
        return _Notebook()
    # "!python train.py" in a cell has a terminal too, each of whose lines the notebook keeps.
    if "JPY_PARENT_PID" in os.environ:
        return None
    terminal = getattr(sys.stderr, "isatty", None)
    return _Terminal() if terminal is not None and terminal() else None
