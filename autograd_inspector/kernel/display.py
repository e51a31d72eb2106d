"""How a report is shown in a notebook: by its widget, and listed in the panel."""

from __future__ import annotations

import sys
from typing import Any

from IPython.display import display

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.kernel.hub.kernel import add
from autograd_inspector.kernel.shell import shell_in_kernel
from autograd_inspector.kernel.widget import VIEW, widget_of
from autograd_inspector.views.assets import WidgetNotBuiltError
from autograd_inspector.views.notebook.saved import CAPTURE
from autograd_inspector.views.text.terminal import Terminal, terminal_of

INTERACTIVE = "The interactive view appears when this cell runs."
"""What stands for the widget where none can be shown. It is not empty: docutils refuses an empty block."""


def terminal() -> Terminal | None:
    """The terminal that IPython runs in; None in a notebook, a script, a test, where a text that is kept is alike."""
    module = sys.modules.get("IPython.terminal.interactiveshell")
    if module is None or not isinstance(sys.modules["IPython"].get_ipython(), module.TerminalInteractiveShell):
        return None
    return terminal_of(sys.stdout)


def view_of(report: ReportData) -> dict[str, Any]:
    """The view of a report's own widget, {} outside of a notebook or where the widget is not built; lists the report.

    In this order: a front end that lists it may ask for the widget, or have it deleted, at once.
    """
    if shell_in_kernel() is None:
        return {}
    try:
        view = {VIEW: widget_of(report).view}
    except WidgetNotBuiltError as error:
        _tell_once(str(error))
        view = {}
    add(report)
    return view


def display_apart(bundle: dict[str, Any], place: Any = None) -> None:
    """Show a report's bundle as the outputs of the running cell, the first in ``place`` where that is given."""
    first, *others = apart(bundle)
    if place is None:
        display(first, raw=True)
    else:
        place.update(first, raw=True)
    for output in others:
        display(output, raw=True)


def apart(bundle: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """The outputs of a report: what any viewer can show, then the widget, which hides the one before it.

    Of one output JupyterLab shows the widget alone, and where its kernel is gone that is "Error displaying widget:
    model not found", or "Loading widget..." for ever; nbconvert shows nothing without the network.
    """
    if VIEW not in bundle:
        return (bundle,)
    live = {VIEW: bundle[VIEW], CAPTURE: bundle[CAPTURE], "text/plain": INTERACTIVE}
    return {kind: data for kind, data in bundle.items() if kind not in {VIEW, CAPTURE}}, live


_told: set[str] = set()


def _tell_once(text: str) -> None:
    if text not in _told:
        _told.add(text)
        print(f"autograd_inspector: {text}", file=sys.stderr)  # noqa: T201 - beside the cell's own output
