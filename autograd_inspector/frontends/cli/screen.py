"""What the command prints: a report in the width, colours and characters of its stream; lines of its own on stderr."""

from __future__ import annotations

import sys
from argparse import Namespace
from contextlib import suppress
from io import TextIOWrapper
from typing import IO

from autograd_inspector.api.ranks import RanksReport
from autograd_inspector.api.report import Report
from autograd_inspector.model.finding import SEVERITIES, Finding
from autograd_inspector.views.text.encodable import encodable
from autograd_inspector.views.text.findings import answer_block
from autograd_inspector.views.text.report import rendered
from autograd_inspector.views.text.terminal import terminal_of


class Screen:
    """Made before the program runs, which may put other streams in place of these, or close them."""

    def __init__(self, options: Namespace, stream: IO[str] | None) -> None:
        self._options = options
        self._stream = stream
        self._beside = sys.stderr
        self._findings: list[Finding] = []
        self._lines = 0

    def show(self, report: Report | RanksReport, heading: str = "") -> None:
        """Print a report. Raises BrokenPipeError where stdout has no reader any more."""
        options = self._options
        terminal = terminal_of(self._stream, width=options.width, color=options.color)
        order = getattr(options, "order", None)
        arranged = {"order": order} if order and isinstance(report, Report) else {}
        text = report.to_text(width=terminal.width, color=terminal.color, **arranged)
        self._put(f"--- {heading}\n{text}\n" if heading else f"{text}\n", self._stream)
        self._lines += text.count("\n")
        if isinstance(report, Report):
            self._findings += report.findings

    def remind(self) -> None:
        """Print the gravest finding in short, where its line has scrolled out of sight: a terminal shows the end."""
        options = self._options
        terminal = terminal_of(self._stream, width=options.width, color=options.color)
        gravest = min(self._findings, key=lambda finding: SEVERITIES.index(finding.severity), default=None)
        if gravest is None or gravest.severity == "info" or not 0 < terminal.height <= self._lines:
            return
        text = rendered([answer_block(gravest)], width=terminal.width, color=terminal.color)
        self._put(f"{text}\n", self._stream)

    def say(self, text: str) -> None:
        """One line beside the program's own output."""
        self._put(f"autograd-inspect: {text}\n", self._beside)

    def _put(self, text: str, stream: IO[str] | None) -> None:
        if stream is self._beside:
            # A program may have closed it, and nobody may read it: files and exit status are still to come.
            with suppress(OSError, ValueError):
                put(text, stream)
        else:
            put(text, stream)


class UnwritableError(OSError):
    """Nothing more goes into a stream, and somebody expected it there: the disk is full."""


def put(text: str, stream: IO[str] | None, *, exactly: bool = False) -> None:
    """Write a text as far as the stream has its characters; nothing where it was closed before Python began.

    ``exactly``: another program reads it, so that characters the stream does not have go there as UTF-8. Raises
    BrokenPipeError where nobody reads on, and UnwritableError.
    """
    if stream is None:
        return
    possible = encodable(text, getattr(stream, "encoding", None))
    try:
        if exactly and possible != text and isinstance(stream, TextIOWrapper):
            stream.flush()
            stream.buffer.write(text.encode(errors="surrogateescape"))
        else:
            stream.write(possible)
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as failure:
        raise UnwritableError(failure.errno, failure.strerror) from failure
