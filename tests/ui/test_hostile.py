"""Names from the program are text, whatever is in them; a damaged state is refused in one line."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from .lab import RUN, in_dark
from .shared import READY, shown

pytestmark = pytest.mark.ui

LINES = {
    "markup": "</script><script>window['hit']=1</script>",
    "image": "<img src=x onerror=window['hit']=1>",
    "right to left": "\u202eevil\u2066\u2069\u200f",
    "nul": "a\x00b\x1b[31m",
    "emoji": "\U0001f9e8\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "long": "long" * 2500,
}
HOSTILE = f"""
%load_ext autograd_inspector
import contextlib, torch, autograd_inspector
from torch import nn
torch.manual_seed(0)
names = {list(LINES.values())!r}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        for name in names:
            self.add_module(name, nn.Linear(4, 4))
            self.register_parameter("p" + name, nn.Parameter(torch.ones(4)))
    def forward(self, x):
        for name in names:
            x = torch.sigmoid(self._modules[name](x)) * self._parameters["p" + name]
        return x
Net.__name__ = Net.__qualname__ = names[1]
net = Net()
optimizer = torch.optim.Adam(net.parameters())
with contextlib.suppress(RuntimeError), autograd_inspector.inspect() as inspection:
    hidden = net(torch.ones(2, 4))
    net(hidden).sum().backward()
    optimizer.step()
    kept = torch.sigmoid(net(hidden)); kept.add_(1)  # </script><img src=x onerror=window.hit=1>
    try:
        kept.sum().backward()
    except RuntimeError as error:
        raise RuntimeError(" ".join(names)) from error
inspection.report
"""
DAMAGED = """
import json, anywidget, traitlets
from autograd_inspector.kernel.widget import ReportWidget
good = inspection.report.widget()
class Damaged(ReportWidget):
    def __init__(self, **traits):
        super().__init__(inspection.report)
        for name, value in traits.items():
            setattr(self, name, value)
wire = json.loads(good.payload)
packed = {**wire, "edges": {**wire["edges"], "source": {"start": 0, "count": 10**6, "width": "int32"}}}
none = {**wire, "nodes": {**wire["nodes"], "op": [10**9] * len(wire["nodes"]["op"])}}
text = {**wire, "strings": [{"not": "text"}] * len(wire["strings"])}
for traits in (
    {"payload": good.payload[: len(good.payload) // 2]},
    {"payload": ""},
    {"payload": json.dumps({**wire, "wire": 99})},
    {"payload": json.dumps(packed), "buffer": bytes(range(256))},
    {"payload": json.dumps(none)},
    {"payload": json.dumps(text)},
    {"payload": json.dumps({**wire, "findings": [7, None]})},
    {"other_payload": "{", "other_name": "</script>"},
):
    display(Damaged(**traits))
"""
REFUSED = (
    "this is not an autograd_inspector capture: it is not JSON",
    "this is not an autograd_inspector capture: it is not JSON",
    "this capture has version 99; this widget reads version 1: update both",
    "this capture is damaged: edges.source",
    "this capture is damaged: nodes.op",
    "this capture is damaged: strings",
    "this capture is damaged: findings",
)


@pytest.fixture(scope="module")
def hostile(browser, lab):
    with shown(browser, lab, "hostile", HOSTILE, DAMAGED) as page:
        page.page.locator(".agi-refusal").first.wait_for(timeout=RUN)
        yield page.of(0)


@pytest.mark.parametrize("tab", ["Graph", "Findings", "Timeline", "Optimizer", "Compare"])
def test_names_are_text_and_nothing_runs(hostile, shots, tab):
    """No element of the program's making, nothing wider than the widget, a picture for whoever wants to look."""
    hostile.complaints.clear()
    panel = hostile.tab(tab)
    if tab == "Graph":
        hostile.widget.get_by_role("button", name="Expand all").click()
    widget = hostile.widget
    assert hostile.page.evaluate("() => window.hit") is None
    expect(widget.locator("img, script, iframe, object, embed, b > b")).to_have_count(0)
    assert panel.evaluate("e => e.scrollWidth - e.clientWidth") <= 1
    assert widget.evaluate("e => e.scrollWidth - e.clientWidth") <= 1
    widget.screenshot(path=str(shots / f"hostile-{tab.lower()}.png"))
    assert hostile.complaints == []


@pytest.mark.parametrize("kind", ["markup", "image"])
def test_a_name_with_markup_is_shown_as_it_is(hostile, kind):
    """In the placement and in the details, letter by letter."""
    panel = hostile.tab("Optimizer")
    row = panel.locator("tr[data-parameter]").filter(has_text="p" + LINES[kind])
    row.first.locator("button.agi-link").last.click()
    expect(hostile.details).to_contain_text(LINES[kind])
    assert hostile.page.evaluate("() => window.hit") is None


def test_controls_are_spelled_out(hostile):
    """NUL, escape and the marks that turn the direction of writing."""
    text = hostile.tab("Optimizer").inner_text()
    assert not re.search("[\x00\x1b\u202e\u2066\u2069\u200f]", text)
    assert LINES["emoji"][0] in text


def test_the_details_of_a_long_name_stay_in_their_column(hostile):
    """Ten thousand letters are cut or broken, and push nothing aside."""
    hostile.tab("Optimizer").locator("tr[data-parameter]").filter(has_text="longlong").first.locator(
        "button.agi-link"
    ).last.click()
    expect(hostile.details).to_contain_text("longlong")
    assert hostile.details.evaluate("e => e.scrollWidth - e.clientWidth") <= 1


def test_a_damaged_state_is_refused_in_one_line(hostile, shots):
    """It says what is wrong; no exception reaches the console."""
    said = hostile.page.locator(".agi-refusal")
    expect(said).to_have_count(len(REFUSED))
    assert [line.removeprefix("autograd_inspector: ") for line in said.all_inner_texts()] == list(REFUSED)
    assert all(line.bounding_box()["height"] < 60 for line in said.all())
    assert hostile.complaints == []


def test_a_damaged_comparison_leaves_the_capture_itself(hostile):
    """The graph is there; Compare says what is wrong with the other."""
    last = hostile.page.locator(".jp-Cell").nth(1).locator(READY)
    expect(last).to_have_count(1)
    last.get_by_role("tab", name="Compare").click()
    expect(last.get_by_role("tabpanel")).to_contain_text("this is not an autograd_inspector capture: it is not JSON")


def test_the_dark_theme_is_as_safe(hostile, shots):
    """Nothing runs when everything is drawn again."""
    in_dark(hostile.page)
    hostile.tab("Graph")
    hostile.widget.screenshot(path=str(shots / "hostile-graph-dark.png"))
    assert hostile.page.evaluate("() => window.hit") is None
