"""The widget under a cell of a real JupyterLab, with a live kernel."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from .lab import RUN, command, in_theme, opened

pytestmark = pytest.mark.ui

LOAD = "%load_ext autograd_inspector"
DETACHED = """
import torch
from torch import nn
encoder, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
"""
STEP = """%%autograd_inspect
hidden = encoder(torch.ones(2, 4)).detach()
loss = head(hidden).sum()
loss.backward()
optimizer.step()
"""
READY = ".autograd-inspector[data-state='ready']"


@pytest.fixture
def widget(page, lab, request):
    """The widget of a cell whose encoder is cut off, in a notebook of the test's own."""
    name = re.sub(r"\W+", "-", request.node.name)
    opened(page, lab.notebook(f"{name}.ipynb", LOAD, DETACHED, STEP))
    page.wait_for_selector(READY, timeout=RUN)
    return page.locator(READY).first


def test_widget_under_the_cell(widget):
    """The magic's cell shows the widget: header, five tabs, the graph, the details region."""
    tabs = widget.get_by_role("tab")
    expect(tabs).to_have_text([re.compile(n) for n in ("Graph", "Findings", "Timeline", "Optimizer", "Compare")])
    expect(widget.get_by_role("region", name="Details")).to_be_visible()
    expect(widget).to_contain_text("1 warning")
    nodes = widget.locator("[data-node]")
    assert nodes.count() > 2
    for node in nodes.all():
        assert node.get_attribute("role") == "button"
        assert node.get_attribute("aria-label")


def test_finding_leads_to_its_node(widget):
    """A finding says its rule, line and fix; clicking it selects what it is about in the graph."""
    widget.get_by_role("tab", name=re.compile("Findings")).click()
    panel = widget.get_by_role("tabpanel", name=re.compile("Findings"))
    expect(panel).to_contain_text("AG101")
    expect(panel).to_contain_text("hidden = encoder(torch.ones(2, 4)).detach()")
    panel.get_by_role("button", name=re.compile("Show in graph")).click()
    expect(widget.get_by_role("tab", name="Graph")).to_have_attribute("aria-selected", "true")
    expect(widget.locator("[data-node][aria-pressed='true']").first).to_be_visible()


def test_selection_is_shared_with_python(page, lab):
    """What is clicked is `widget.selected` in the kernel; `widget.select` in the kernel is shown."""
    inspected = f"{DETACHED}\nimport autograd_inspector\nwith autograd_inspector.inspect() as inspection:\n"
    inspected += "    head(encoder(torch.ones(2, 4))).sum().backward()\nwidget = inspection.report.widget()\nwidget"
    opened(
        page,
        lab.notebook("selected.ipynb", inspected, "print('selected', widget.selected)", "_ = widget.select('sum')"),
    )
    page.wait_for_selector(READY, timeout=RUN)
    widget = page.locator(READY).first
    pressed = widget.locator("[data-node][aria-pressed='true']")
    expect(pressed).to_have_attribute("aria-label", re.compile("sum"), timeout=RUN)
    other = widget.locator("[data-node][aria-label*='mean'], [data-node][aria-pressed='false']").first
    number = other.get_attribute("data-node")
    other.click()
    page.locator(".jp-Cell").nth(1).click()
    command(page, "notebook:run-cell")
    expect(page.locator(".jp-Cell").nth(1)).to_contain_text(f"selected [{number}", timeout=RUN)


def test_keyboard_alone(page, widget):
    """Tabs are walked with the arrows, nodes with the arrows, and Enter opens or selects."""
    widget.get_by_role("tab", name="Graph").focus()
    page.keyboard.press("ArrowRight")
    expect(widget.get_by_role("tab", name=re.compile("Findings"))).to_be_focused()
    page.keyboard.press("ArrowLeft")
    node = widget.locator("[data-node][tabindex='0']").first
    node.focus()
    page.keyboard.press("ArrowDown")
    focused = widget.locator("[data-node]:focus")
    expect(focused).to_have_count(1)


def test_every_tab_shows_something(widget):
    """Timeline, Optimizer and Compare have content for a training step."""
    widget.get_by_role("tab", name="Timeline").click()
    expect(widget.get_by_role("tabpanel", name="Timeline")).to_contain_text("linear")
    widget.get_by_role("tab", name=re.compile("Optimizer")).click()
    expect(widget.get_by_role("tabpanel", name=re.compile("Optimizer"))).to_contain_text("encoder.weight")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_accessible(page, widget, axe, shots, dark):
    """axe-core finds no violation in any tab, in either theme."""
    in_theme(page, dark=dark)
    page.add_script_tag(path=str(axe))
    for name in ("Graph", "Findings", "Timeline", "Optimizer", "Compare"):
        widget.get_by_role("tab", name=re.compile(name)).click()
        page.wait_for_timeout(300)  # Transitions end.
        widget.screenshot(path=str(shots / f"widget-{name.lower()}-{'dark' if dark else 'light'}.png"))
        found = page.evaluate("() => axe.run('.autograd-inspector')")
        said = [
            (violation["id"], [node["html"][:200] for node in violation["nodes"]]) for violation in found["violations"]
        ]
        assert said == [], name
