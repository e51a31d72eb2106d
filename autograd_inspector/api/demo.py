"""``demo()``: one training step that fails, with its report."""

from __future__ import annotations

import linecache
import sys

from autograd_inspector.api.inspect import inspect
from autograd_inspector.api.report import Report
from autograd_inspector.capture.preflight.random_streams import kept_streams
from autograd_inspector.views.text.encodable import encodable

PROGRAM = """\
import torch
from torch import nn

encoder, head = nn.Linear(4, 8), nn.Linear(8, 1)
hidden = torch.sigmoid(encoder(torch.randn(3, 4)))
loss = head(hidden).pow(2).mean()
hidden.add_(1)  # the culprit
loss.backward()
"""
FILE = "<demo>"


def demo() -> Report:
    """Run one failing training step, print the program and its error, and return the report.

    ::

        autograd_inspector.demo()

    As the last line of a notebook cell, it shows the interactive report; elsewhere it also prints the report. The
    caller's random number generators do not change. Raises NestedInspectionError inside a capture.
    """
    # Where tracebacks and reports look for the lines of what is no file.
    linecache.cache[FILE] = len(PROGRAM), None, PROGRAM.splitlines(keepends=True), FILE
    failure: RuntimeError | None = None
    with kept_streams():
        inspection = inspect()
        try:
            with inspection:
                exec(compile(PROGRAM, FILE, "exec"), {"__name__": FILE})  # noqa: S102 - the program above
        except RuntimeError as error:
            failure = error
    report = inspection.report
    sys.stdout.write(f"{_numbered(PROGRAM)}\n{type(failure).__name__}: {_first_sentence(failure)}\n\n")
    if not _is_displayed():
        sys.stdout.write(encodable(report.to_text(), sys.stdout.encoding))
    return report


def _numbered(text: str) -> str:
    return "".join(f"{number:3}  {line}" for number, line in enumerate(text.splitlines(keepends=True), 1))


def _first_sentence(error: object) -> str:
    """torch's message goes on with advice that the report makes unnecessary."""
    return str(error).partition(". Hint")[0]


def _is_displayed() -> bool:
    """Whether IPython shows what a cell ends with."""
    return "IPython" in sys.modules and sys.modules["IPython"].get_ipython() is not None
