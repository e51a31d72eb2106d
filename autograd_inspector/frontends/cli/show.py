"""``autograd-inspect show``: a stored report in the browser, or its page in a file."""

from __future__ import annotations

import os
import sys
import tempfile
import webbrowser
from collections.abc import Iterator
from pathlib import Path

from autograd_inspector.api.ranks import RanksReport
from autograd_inspector.api.report import Report
from autograd_inspector.views.assets import WidgetNotBuiltError
from autograd_inspector.views.whole import write_whole


class StoredReportError(Exception):
    """A file that cannot be read, or that holds no report; one line says which."""


def stored(path: Path) -> Report | RanksReport:
    """What ``run --json`` or ``merge --json`` wrote; raises StoredReportError for any other file."""
    try:
        if path.is_char_device() or path.is_block_device():
            raise StoredReportError(f"{path}: a device, not a file")
        text = path.read_bytes()
    except OSError as error:
        raise StoredReportError(f"{path}: {error.strerror or error}") from None
    try:
        return Report.from_json(text)
    except ValueError as error:
        try:
            return RanksReport.from_json(text)
        except ValueError:
            raise StoredReportError(f"{path}: not a report of `autograd-inspect run --json` ({error})") from None


def show(report: Report | RanksReport, html: Path | None) -> Iterator[str]:
    """Write the interactive page, open it where there is a screen, and say in lines what was done.

    Raises OSError where the page cannot be written.
    """
    page, note = _page(report)
    if note:
        yield note
    if html is None:
        # It stays: the browser may read it long after the command has ended.
        with tempfile.NamedTemporaryFile("wb", prefix="autograd-report-", suffix=".html", delete=False) as file:
            html = Path(file.name)
    write_whole(html, page)
    path = html.resolve()
    if screen() and webbrowser.open(path.as_uri()):
        yield f"opened {path}"
    else:
        yield f"wrote {path}; open it in a browser: {path.as_uri()}"


def screen() -> bool:
    """Whether somebody sits before this terminal and can see a browser's window."""
    if sys.stdout is None or not sys.stdout.isatty():
        return False
    display_variables = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    return sys.platform in {"darwin", "win32"} or any(os.environ.get(name) for name in display_variables)


def _page(report: Report | RanksReport) -> tuple[str, str]:
    if isinstance(report, RanksReport):
        return report.to_html(), ""
    try:
        return report.to_html(interactive=True), ""
    except WidgetNotBuiltError as error:
        return report.to_html(), f"a static page: {error}"
