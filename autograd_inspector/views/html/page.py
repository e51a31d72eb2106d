"""The report as one interactive page: script, style and capture stand in it, nothing comes from the network.

On paper, and where no script runs, the findings and the picture stand in its place, all of them open.
"""

from __future__ import annotations

import base64
from contextlib import suppress

from autograd_inspector.analysis.ranks_data import ReportOfRank
from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.views.assets import asset
from autograd_inspector.views.colours import PAGE
from autograd_inspector.views.encoding import encoded
from autograd_inspector.views.html.output import output_html
from autograd_inspector.views.markup import Markup, element, together
from autograd_inspector.views.picture.dot import to_dot
from autograd_inspector.views.picture.render import DrawingError, GraphvizMissingError, svg_of
from autograd_inspector.views.summary import headline

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:"
_BODY = f"body{{margin:12px}}@media(prefers-color-scheme:dark){{body{{background:{PAGE['desk'].dark}}}}}"
_PAPER = "#paper{display:none}@media print{body{background:none}#root{display:none}#paper{display:block}}"
_NO_SCRIPT = "#root{display:none}#paper{display:block}"


def to_interactive_html(report: ReportData) -> str:
    """What the widget shows, without a kernel."""
    several = report.others.values() if isinstance(report, ReportOfRank) else ()
    captures: dict[str, ReportData] = {"": report} | {f"-{each.rank}": each for each in several}
    head = together(
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        element("title", f"autograd inspector: {headline(report)}"),
        element("style", Markup((_BODY + _PAPER + asset("style.css")).replace("</", "<\\/"))),
    )
    # `<` occurs in JSON only inside of strings, where it may be written as an escape.
    body = together(
        element("main", id="root"),
        element("div", Markup(output_html(report, _svg(report), linked=True)), id="paper"),
        element("noscript", element("style", Markup(_NO_SCRIPT))),
        *(part for suffix, each in captures.items() for part in _capture(each, suffix)),
        element("script", Markup(asset("page.js").replace("</script", "<\\/script"))),
    )
    return f"<!doctype html>\n{element('html', element('head', head), element('body', body), lang='en')}\n"


def _capture(report: ReportData, suffix: str) -> tuple[Markup, Markup]:
    payload, buffer = encoded(report)
    return (
        element("script", Markup(payload.replace("<", "\\u003c")), type="application/json", id=f"payload{suffix}"),
        element("script", Markup(base64.b64encode(buffer).decode()), type="text/plain", id=f"buffer{suffix}"),
    )


def _svg(report: ReportData) -> str:
    """The picture, "" where there is nothing to draw or nobody to draw it."""
    with suppress(DrawingError, GraphvizMissingError):
        return svg_of(to_dot(report)) if report.graph.nodes else ""
    return ""
