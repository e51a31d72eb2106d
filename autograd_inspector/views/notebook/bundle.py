"""What a notebook keeps of a report beside the widget, which lives no longer than the kernel."""

from __future__ import annotations

from collections.abc import Callable, Container
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.views.gc_pause import collector_paused
from autograd_inspector.views.html.output import output_html
from autograd_inspector.views.notebook.saved import CAPTURE, saved
from autograd_inspector.views.picture.dot import to_dot
from autograd_inspector.views.picture.render import DrawingError, GraphvizMissingError, svg_of
from autograd_inspector.views.text.report import kept_of

HTML = "text/html"
MANY = 10_000
"""From so many nodes on the front end has more to do than `dot`, which draws the collapsed graph."""


def bundle_of(report: ReportData, live: Callable[[], dict[str, Any]] = dict) -> dict[str, Any]:
    """By media type: ``text/plain`` has all that there is room for, ``text/html`` the findings and the picture.

    The capture itself is what the JupyterLab extension draws the interactive view from when the notebook is opened
    again. Nothing in it depends on the run: the same program leaves the same bundle.

    There is no picture of its own beside these: who cannot show HTML and takes one (LaTeX) would lose the findings
    (``report.render("graph.png")`` writes one).

    ``live`` sends the widget. Whatever takes longest begins first: decoding it in the front end, or `dot`.
    """
    with collector_paused(), ThreadPoolExecutor(1) as beside:
        sent = live() if len(report.graph.nodes) >= MANY else None
        drawing = beside.submit(svg_of, to_dot(report)) if report.graph.nodes else None
        view = live() if sent is None else sent
        bundle: dict[str, Any] = {**view, "text/plain": kept_of(report), CAPTURE: saved(report)}
        svg = ""
        with suppress(DrawingError, GraphvizMissingError):
            svg = "" if drawing is None else drawing.result()
        bundle[HTML] = output_html(report, svg)
    return bundle


def chosen(bundle: dict[str, Any], include: Container[str] | None, exclude: Container[str] | None) -> dict[str, Any]:
    """Those media types that IPython asked for."""
    wanted = (kind for kind in bundle if include is None or kind in include)
    return {kind: bundle[kind] for kind in wanted if exclude is None or kind not in exclude}
