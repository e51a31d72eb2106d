"""What becomes of a report in the notebook: stored, written, displayed."""

from __future__ import annotations

import sys
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from autograd_inspector.api.destinations import own_file, rank_of, written
from autograd_inspector.api.report import Report
from autograd_inspector.kernel.display import display_apart
from autograd_inspector.kernel.hub.kernel import add
from autograd_inspector.kernel.options import Options

_PLACE = "_place"


def deliver(shell: InteractiveShell, report: Report, options: Options, *, cell: int = 0) -> None:
    """Store, write and show a report. ``cell`` numbers its files where every cell has some; each rank has its own."""
    if options.quiet:
        add(report)
    if options.store:
        shell.user_ns[options.store] = report
    rank = rank_of(report)
    html, json = (
        path and own_file(shell.var_expand(path), cell=cell, rank=rank) for path in (options.html, options.json)
    )
    files = list(written(report, html=html, json=json))
    if not options.quiet:
        show(report)  # First: it takes the place of the line of progress, and its two outputs stand together.
    for file in files:
        if file.problem or not options.quiet:
            say(file.line)


def show(report: Report) -> None:
    """Display a report, which lists it. Its views are made here: IPython would print our traceback if one failed."""
    display_apart(report._repr_mimebundle_(), report.__dict__.pop(_PLACE, None))


def shown_in(report: Report, place: Any) -> None:
    """Let the report be displayed in an output that is there already; None: in a new one."""
    report.__dict__[_PLACE] = place


def say(text: str) -> None:
    """One line that the user should not miss."""
    print(f"autograd_inspector: {text}", file=sys.stderr)  # noqa: T201 - beside the cell's own output


def tell(text: str) -> None:
    """The answer to a line magic."""
    print(text)  # noqa: T201 - what the user asked for
