"""A terminal as wide as a test wants it, and what a program wrote to it."""

from __future__ import annotations

import os
import pty
import re
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass


@dataclass
class Terminal:
    """``stream`` is for the program; once that has it, `text` reads until the program has closed it."""

    stream: int
    _read: int

    def text(self) -> str:
        """All that was left on it, line ends as in a file; a line that the program erased and wrote again once."""
        os.close(self.stream)
        said = b""
        with suppress(OSError):  # The other end is closed.
            while piece := os.read(self._read, 10_000):
                said += piece
        return re.sub(r"[^\n]*\r\x1b\[K", "", said.decode()).replace("\r", "")


@contextmanager
def terminal(columns: int, lines: int = 25) -> Iterator[Terminal]:
    """A terminal of that size."""
    primary, secondary = pty.openpty()
    termios.tcsetwinsize(secondary, (lines, columns))
    try:
        yield Terminal(secondary, primary)
    finally:
        os.close(primary)


def plain(text: str) -> str:
    """The text without its colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
