"""The report as one interactive page: script, style and capture stand in it, nothing comes from the network."""

from __future__ import annotations

import base64

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.views.assets import asset
from autograd_inspector.views.encoding import encoded
from autograd_inspector.views.markup import Markup, element, together
from autograd_inspector.views.summary import headline

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:"
_BODY = "body{margin:12px}@media(prefers-color-scheme:dark){body{background:#0e1013}}"


def to_interactive_html(report: ReportData) -> str:
    """What the widget shows, without a kernel."""
    payload, buffer = encoded(report)
    head = together(
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        element("title", f"autograd inspector: {headline(report)}"),
        element("style", Markup((_BODY + asset("style.css")).replace("</", "<\\/"))),
    )
    # `<` occurs in JSON only inside of strings, where it may be written as an escape.
    body = together(
        element("main", id="root"),
        element("script", Markup(payload.replace("<", "\\u003c")), type="application/json", id="payload"),
        element("script", Markup(base64.b64encode(buffer).decode()), type="text/plain", id="buffer"),
        element("script", Markup(asset("page.js").replace("</script", "<\\/script"))),
    )
    return f"<!doctype html>\n{element('html', element('head', head), element('body', body), lang='en')}\n"
