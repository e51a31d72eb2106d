"""stdout for a patch alone: what the program prints there goes to stderr."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import IO

from autograd_inspector.frontends.cli.screen import put
from autograd_inspector.views.text.patch import coloured
from autograd_inspector.views.text.terminal import terminal_of


class PatchOutput:
    """The stream that stdout is when this is made; from then on stdout is stderr, to the end of the process.

    To its end, for a program may print when it exits. The descriptor is exchanged: programs that this one runs, and
    libraries in C, write there as well.
    """

    def __init__(self, color: str) -> None:
        self._color = color
        self._stream = _taken() or sys.stdout

    def write(self, patch: str) -> None:
        """Write a patch, in colours where a terminal shows it. Raises BrokenPipeError where nobody reads on."""
        stream = self._stream
        if stream is not None and self._color != "never" and stream.isatty() and terminal_of(stream).color:
            patch = coloured(patch)
        try:
            put(patch, stream, exactly=True)
        except OSError:
            # What is left of it is written when the stream is closed, once more in vain.
            if isinstance(stream, TextIOWrapper):
                with suppress(OSError, ValueError):
                    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            raise


def _taken() -> IO[str] | None:
    """A stream to where stdout goes; None where stdout is no file of the system, or was closed."""
    stdout = sys.stdout
    try:
        stdout.flush()
        own = os.dup(stdout.fileno())
    except (AttributeError, OSError, ValueError):
        return None
    try:
        os.dup2(2, stdout.fileno())
    except OSError:  # There is no stderr.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())
    return os.fdopen(own, "w", encoding=stdout.encoding, errors=stdout.errors)
