"""The widget where a page allows little: a webview whose policy lets no text be evaluated, a frame without an origin.

The host is as small as anywidget's part in it: it imports the module that the widget's model has and calls it.
"""

from __future__ import annotations

import base64
import contextlib
import json

import pytest
import torch
from playwright.sync_api import expect
from torch import nn

import autograd_inspector
from autograd_inspector.kernel.widget import ReportWidget

from .shared import READY

pytestmark = pytest.mark.ui

NONCE = "r4nd0m"
POLICY = (
    f"default-src 'none'; script-src 'nonce-{NONCE}' blob:; style-src 'unsafe-inline'; img-src data: blob:; "
    "font-src data:; connect-src 'none'"
)
"""As a webview of VS Code has it, and stricter: no 'unsafe-eval', and the network is closed."""
HOST = """<!doctype html><meta charset="utf-8"><div id="root"></div>
<script type="application/json" id="state">{state}</script>
<script type="module" nonce="{nonce}">
  const state = JSON.parse(document.getElementById("state").textContent);
  const bytes = Uint8Array.from(atob(state.buffer), (letter) => letter.charCodeAt(0));
  state.buffer = new DataView(bytes.buffer);
  state.other_buffer = new DataView(new ArrayBuffer(0));
  const model = {{
    get: (name) => state[name],
    set: (name, value) => {{ state[name] = value; }},
    save_changes() {{}}, on() {{}}, off() {{}}, send() {{}},
  }};
  const style = document.createElement("style");
  style.textContent = state._css;
  document.head.append(style);
  const address = URL.createObjectURL(new Blob([state._esm], {{ type: "text/javascript" }}));
  const {{ default: make }} = await import(address);
  const widget = make();
  await widget.initialize({{ model }});
  widget.render({{ model, el: document.getElementById("root") }});
</script>"""


@pytest.fixture(scope="module")
def host():
    """The host's page with a widget of a failed step."""
    net = nn.Sequential(nn.Linear(4, 8), nn.Sigmoid(), nn.Linear(8, 1))
    with autograd_inspector.inspect() as inspection, contextlib.suppress(RuntimeError):
        hidden = net[0](torch.randn(2, 4)).sigmoid()
        hidden.add_(1.0)
        net[2](hidden).sum().backward()
    widget = ReportWidget(inspection.report)
    state = widget.get_state()
    state["buffer"] = base64.b64encode(state["buffer"]).decode()
    kept = {name: value for name, value in state.items() if isinstance(value, (str, list, dict)) and name != "layout"}
    widget.close()
    return HOST.format(state=json.dumps(kept, default=str).replace("<", "\\u003c"), nonce=NONCE)


@pytest.fixture
def served(page, host):
    """``served(**headers)`` opens the page with them; what the browser refused is in ``served.refused``."""
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: refused.append(error.message))

    def opened(path: str, **headers: str) -> None:
        def answer(route):
            outer = '<!doctype html><iframe sandbox="allow-scripts" src="/widget" width="1100" height="900"></iframe>'
            body = outer if route.request.url.endswith("/frame") else host
            route.fulfill(body=body, content_type="text/html", headers=headers)

        page.route("http://host.test/**", answer)
        page.goto(f"http://host.test/{path}")

    opened.refused = refused
    return opened


def works(scope) -> None:
    """The answer is there, and tabs, search and menus do what they do elsewhere."""
    widget = scope.locator(READY)
    expect(widget.locator(".agi-answer")).to_contain_text("hidden.add_(1.0)")
    expect(widget.locator("[data-node]").first).to_be_visible()
    widget.get_by_role("tab", name="Findings").click()
    expect(widget.locator(".agi-finding[open]")).to_have_count(1)
    widget.get_by_role("tab", name="Graph").click()
    search = widget.get_by_role("searchbox", name="Search the graph")
    search.fill("sigmoid")
    search.press("Enter")
    expect(widget.get_by_role("region", name="Details").get_by_role("heading", level=3)).to_have_text("sigmoid")


def test_a_webview_that_evaluates_nothing(served, page):
    """As in VS Code: scripts need a nonce, styles may stand in the page, nothing is evaluated or loaded."""
    served("widget", **{"Content-Security-Policy": POLICY})
    works(page)
    assert served.refused == []


def test_a_sandboxed_frame(served, page):
    """As in Colab: the output is a frame of no origin, in which storage and cookies raise."""
    served("frame")
    works(page.frame_locator("iframe"))
    assert served.refused == []
