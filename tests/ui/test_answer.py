"""The first screen after a failing cell: the line that did it, why, and the fix, without a click."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from .lab import RUN, idle
from .panel import Panel
from .shared import READY, shut_down

pytestmark = pytest.mark.ui

SCREEN = {"width": 1440, "height": 900}
SETUP = "%load_ext autograd_inspector\nimport torch\nfrom torch import nn"
FAILING = """%%autograd_inspect
net = nn.Sequential(nn.Linear(4, 8), nn.Sigmoid(), nn.Linear(8, 1))
x = torch.randn(16, 4)

h = torch.sigmoid(net[0](x))
out = net[2](h)
h += 1.0
loss = out.pow(2).mean()
loss.backward()"""
LONG = """%%autograd_inspect
import time
net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(100):
    opt.zero_grad()
    net(torch.ones(2, 4)).pow(2).mean().backward()
    opt.step()
    time.sleep(0.1)
print("the program went on")"""
CAUGHT = """%%autograd_inspect
import contextlib, time
net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(100):
    hidden = torch.sigmoid(net(torch.ones(2, 4)))
    hidden += 1.0
    with contextlib.suppress(RuntimeError):
        hidden.sum().backward()
    opt.step()
    time.sleep(0.1)"""


@pytest.fixture
def page(browser, lab):
    """``page(name, cell)``: a notebook with that cell, which runs after the preparations."""
    context = browser.new_context(viewport=SCREEN)

    def made(name: str, cell: str) -> Panel:
        panel = Panel(context.new_page())
        idle(panel.page, lab.notebook(f"{name}.ipynb", SETUP, cell))
        panel.page.evaluate("() => { void window.jupyterapp.commands.execute('notebook:run-all-cells') }")
        return panel

    yield made
    context.close()
    shut_down(lab)


def test_the_answer_is_on_the_first_screen(page):
    """Line, reason and fix stand above the traceback and need no scrolling; the panel stays closed, with a dot."""
    panel = page("answer", FAILING)
    cell = panel.cell(1)
    answer = cell.locator(f"{READY} .agi-answer")
    answer.wait_for(timeout=RUN)
    expect(answer).to_contain_text("h += 1.0")
    expect(answer).to_contain_text("In [2], line 7")
    expect(answer).to_contain_text("modified in place")
    expect(answer).to_contain_text("h = h + 1.0")
    box = answer.bounding_box()
    assert box is not None
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= SCREEN["height"]
    traceback = cell.locator(".jp-OutputArea-child", has_text="Traceback").bounding_box()
    assert traceback is None or traceback["y"] > box["y"]
    expect(panel.root).to_be_hidden()
    expect(panel.page.locator(".lm-TabBar-tab.agi-tab-error")).to_be_visible()


def test_one_click_leads_to_the_line_to_edit(page):
    """The place in the answer puts the cursor on the culprit's line."""
    panel = page("one_click", FAILING)
    panel.cell(1).locator(f"{READY} .agi-answer .agi-goto").click(timeout=RUN)
    line = panel.cell(1).locator(".cm-line.agi-flash")
    expect(line).to_have_text(re.compile(r"^h \+= 1\.0"))


def test_keys_reach_everything(page):
    """`?` shows the keys, `/` goes to the search, a toolbar is one stop of Tab and is walked by arrows."""
    panel = page("keys", FAILING)
    widget = panel.cell(1).locator(READY)
    widget.wait_for(timeout=RUN)
    widget.get_by_role("tab", name="Graph").focus()
    panel.page.keyboard.press("?")
    expect(widget.get_by_role("region", name="Keys")).to_be_visible()
    panel.page.keyboard.press("Escape")
    expect(widget.get_by_role("region", name="Keys")).to_be_hidden()
    panel.page.keyboard.press("/")
    search = widget.get_by_role("searchbox", name="Search the graph")
    expect(search).to_be_focused()
    panel.page.keyboard.press("ArrowRight")
    expect(widget.get_by_role("button", name="Expand to depth 1")).to_be_focused()
    panel.page.keyboard.press("Tab")
    assert not widget.get_by_role("toolbar").evaluate("bar => bar.contains(document.activeElement)")


def test_a_running_cell_is_followed_and_its_recording_stopped(page):
    """Steps and ops are counted in panel and status bar; Stop ends the recording, and the program goes on."""
    panel = page("running", LONG)
    panel.show()
    live = panel.root.locator(".agi-live")
    live.wait_for(timeout=RUN)
    expect(live).to_contain_text("In [2] runs:")
    expect(live).to_contain_text("steps")
    expect(panel.page.locator(".agi-findings-count")).to_contain_text("In [2] runs:")
    live.get_by_role("button", name="Stop recording").click()
    expect(live).to_contain_text("no longer recorded")
    header = panel.cell(1).locator(f"{READY} .agi-header")
    expect(header).to_contain_text("recording stopped", timeout=RUN)
    expect(panel.cell(1)).to_contain_text("the program went on")
    expect(live).to_be_hidden()


def test_what_is_certain_is_listed_while_the_cell_runs(page):
    """Panel and status bar name the culprit's line long before the cell ends; a click brings it into sight."""
    panel = page("certain", CAUGHT)
    panel.show()
    finding = panel.root.locator(".agi-live li")
    finding.wait_for(timeout=RUN)
    expect(finding).to_have_count(1)
    expect(finding).to_contain_text("AG201")
    expect(finding).to_contain_text("hidden += 1.0")
    expect(panel.page.locator(".agi-findings-count")).to_contain_text("AG201 line 7")
    expect(panel.entries).to_have_count(0)
    finding.get_by_role("button", name="In [2], line 7").click()
    expect(panel.cell(1).locator(".cm-line.agi-flash")).to_have_text(re.compile(r"^    hidden \+= 1\.0"))
    panel.expect_entries(1)
    expect(finding).to_have_count(0)
