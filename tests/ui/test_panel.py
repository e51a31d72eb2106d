"""The panel: what it lists, and what may be done with a capture."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import expect

from .lab import RUN, in_theme
from .panel import KERNEL, PANEL, panel_of
from .programs import SETUP, SPOILED
from .shared import READY

pytestmark = pytest.mark.ui
HEALTHY = """%%autograd_inspect
optimizer.zero_grad()
loss = net(x).pow(2).mean()
loss.backward()
optimizer.step()
"""
CLOSES = """
import gc
from autograd_inspector.kernel.widget import ReportWidget
for one in gc.get_objects():
    if isinstance(one, ReportWidget):
        one.close()
"""
TRAINS, SPOILS = 1, 2
"""Cells of the notebook."""


@pytest.fixture(scope="module")
def shared(browser, lab):
    """One notebook for all tests of this file; each makes the captures that it changes."""
    with panel_of(browser, lab, "panel", SETUP, HEALTHY, SPOILED) as panel:
        panel.expect_entries(2)
        yield panel


@pytest.fixture
def panel(shared):
    """The page must not complain."""
    shared.complaints.clear()
    yield shared
    assert shared.complaints == []


@pytest.fixture
def trained(panel):
    """A new capture of the healthy program."""
    return panel.capture(TRAINS)


@pytest.fixture
def spoiled(panel):
    """A new capture of the program with an error."""
    return panel.capture(SPOILS)


def test_the_list_says_what_a_capture_is(panel, trained, spoiled):
    """Newest first: cell, first line, findings by severity in words and signs, nodes, duration, time."""
    assert panel.ids[:2] == [spoiled.get_attribute("data-capture"), trained.get_attribute("data-capture")]
    expect(spoiled).to_contain_text(re.compile(r"In \[\d+\]"))
    expect(spoiled).to_contain_text("hidden = torch.sigmoid(net.encoder(x))")
    expect(spoiled).to_contain_text("✕ 1")
    expect(spoiled).to_contain_text("1 error")
    expect(trained).to_contain_text("no findings")
    expect(trained).to_contain_text(re.compile(r"\d+ nodes · [\d.]+ m?s"))
    expect(trained).to_contain_text(re.compile(r"\d\d:\d\d:\d\d"))


def test_a_click_shows_the_same_widget(panel, spoiled):
    """A node selected in the panel is selected under the cell, and the other way round."""
    panel.pick(spoiled)
    cell = panel.cell(SPOILS).locator(READY)
    cell.wait_for(timeout=RUN)
    expect(spoiled.locator("[aria-current='true']")).to_have_count(1)
    pressed = "[data-node][aria-pressed='true']"
    for here, there, name in ((panel.widget, cell, "sigmoid"), (cell, panel.widget, "layer_norm")):
        search = here.get_by_role("searchbox", name="Search the graph")
        search.fill(name)
        search.press("Enter")
        search.fill("")
        number = here.locator(pressed).get_attribute("data-node")
        expect(there.locator(pressed)).to_have_attribute("data-node", number)


def test_the_tools_leave_the_picture_room(panel, spoiled):
    """In a sidebar the tools take two rows: the filters lie behind a button that counts those in force."""
    panel.pick(spoiled)
    tools = panel.widget.get_by_role("toolbar", name="Graph")
    problem = tools.get_by_role("button", name="Only the problem")
    assert tools.bounding_box()["height"] < 80
    expect(problem).to_be_hidden()
    opener = tools.locator(".agi-filters > summary")
    opener.click()
    problem.click()
    opener.click()
    expect(problem).to_be_hidden()
    expect(opener).to_have_text("Filters (1)")
    assert panel.widget.locator("[data-node]").count() > 1


def test_what_was_searched_stays_in_sight(panel, spoiled):
    """Searching leaves the picture its size; where something else takes of it, what is selected is seen still."""
    panel.pick(spoiled)
    stage = panel.widget.locator(".agi-graph-view")
    height = stage.evaluate("stage => stage.clientHeight")
    search = panel.widget.get_by_role("searchbox", name="Search the graph")
    search.fill("sigmoid")
    expect(panel.widget.locator(".agi-search output")).to_have_text(re.compile("match"))
    assert stage.evaluate("stage => stage.clientHeight") == height
    search.press("Enter")
    panel.widget.get_by_role("button", name="Keys").click()
    selected = panel.widget.locator("[data-node][aria-pressed='true']").bounding_box()
    room = stage.bounding_box()
    assert room["y"] <= selected["y"] <= room["y"] + room["height"] - selected["height"]


def test_a_capture_that_is_shown_is_left_as_it_is(panel, trained, spoiled):
    """A second click on its entry loses neither tab nor search; another capture is drawn in its place."""
    panel.pick(spoiled)
    search = panel.widget.get_by_role("searchbox", name="Search the graph")
    search.fill("sigmoid")
    panel.widget.get_by_role("tab", name="Timeline").click()
    spoiled.click()
    spoiled.click()
    panel.page.wait_for_timeout(500)
    expect(panel.widget.get_by_role("tab", name="Timeline")).to_have_attribute("aria-selected", "true")
    panel.widget.get_by_role("tab", name="Graph").click()
    expect(search).to_have_value("sigmoid")
    panel.pick(trained)
    expect(search).to_have_value("")


def test_a_click_brings_back_a_widget_that_was_closed(panel, spoiled):
    """What the program closed is asked for again, and made anew."""
    panel.pick(spoiled)
    panel.page.evaluate(f"code => {{ void {KERNEL}.requestExecute({{code}}) }}", CLOSES)
    expect(panel.widget).to_have_count(0)
    panel.pick(spoiled)


def test_rename_and_back(panel, trained):
    """A name of the user's own stands first, with the cell behind; an empty one gives the cell's again."""
    panel.choose(trained, "Rename")
    panel.page.keyboard.type("before the fix")
    panel.page.keyboard.press("Enter")
    expect(trained.locator("strong")).to_have_text("before the fix")
    expect(trained).to_contain_text("In [")
    trained.get_by_role("button").first.press("F2")
    panel.page.keyboard.press("Delete")
    panel.page.keyboard.press("Enter")
    expect(trained.locator("strong")).to_have_text(re.compile(r"In \[\d+\]"))


def test_pinned_captures_outlive_a_clear(panel, trained, spoiled):
    """Clear asks first, and takes all but the pinned ones."""
    panel.choose(trained, "Pin")
    expect(trained.get_by_role("img", name="pinned")).to_be_visible()
    panel.root.get_by_role("button", name="Clear").click()
    panel.page.get_by_role("dialog").get_by_role("button", name="Clear").click()
    panel.expect_entries(1)
    expect(trained).to_be_visible()
    expect(panel.root.get_by_role("button", name="Clear")).to_be_disabled()
    panel.choose(trained, "Unpin")
    expect(trained.get_by_role("img", name="pinned")).to_have_count(0)


def test_delete_takes_the_capture_from_everywhere(panel, spoiled):
    """The entry, the widget in the panel, the tab; the focus goes to a neighbour."""
    other = panel.capture(TRAINS)
    panel.pick(spoiled)
    panel.root.get_by_role("button", name="Open in a tab").click()
    tab = panel.page.locator(f".agi-tab {READY}")
    tab.wait_for()
    spoiled.get_by_role("button").first.focus()
    panel.page.keyboard.press("Delete")
    expect(spoiled).to_have_count(0)
    expect(tab).to_have_count(0)
    expect(panel.widget).to_have_count(0)
    expect(other).to_be_visible()
    expect(panel.page.locator(f"{PANEL} .agi-capture-main:focus")).to_have_count(1)


def test_compare_two(panel, trained, spoiled):
    """Compare with …, then the other: the older one is what the newer is compared with. Escape ends the choice."""
    panel.choose(spoiled, "Compare with")
    expect(panel.notice).to_contain_text("Choose the capture to compare")
    panel.page.keyboard.press("Escape")
    expect(panel.notice).to_be_hidden()
    panel.pick(spoiled)
    panel.choose(spoiled, "Compare with")
    spoiled.click()
    expect(panel.notice).to_be_hidden()
    panel.choose(spoiled, "Compare with")
    trained.click()
    cells = [entry.locator("strong").inner_text() for entry in (trained, spoiled)]
    panel.expect_shown(" → ".join(cells))
    panel.widget.get_by_role("tab", name="Compare").click()
    expect(panel.widget.get_by_role("tabpanel", name="Compare")).to_contain_text(cells[0])
    expect(panel.root.locator("[aria-current='true']")).to_have_count(2)


@pytest.mark.parametrize(
    ("form", "name", "begins"),
    [
        ("JSON", "json", "{"),
        ("HTML", "html", "<!doctype html>"),
        ("Graphviz DOT", "dot", "digraph"),
        ("Text", "txt", ""),
    ],
)
def test_export(panel, trained, form, name, begins):
    """A file of the browser's, named after the cell."""
    with panel.page.expect_download() as download:
        panel.choose(trained, "Export as", form)
    assert re.fullmatch(rf"autograd-In-\d+\.{name}", download.value.suggested_filename)
    text = open(download.value.path(), encoding="utf-8").read()  # noqa: PTH123, SIM115
    assert text.lower().startswith(begins)
    if name == "json":
        assert json.loads(text)


def test_a_capture_that_another_page_deleted_is_refused_in_one_line(panel, trained):
    """A request for it says so in the panel, and the list goes on."""
    asked = panel.page.evaluate(
        "async () => { try { await window.jupyterapp.commands.execute('autograd-inspector:open-in-tab',"
        " {capture: 'gone'}) } catch (error) { return String(error) } }"
    )
    assert asked is None
    expect(panel.notice).to_contain_text("this capture is gone")
    panel.notice.get_by_role("button", name="Dismiss").click()
    expect(panel.notice).to_be_hidden()


def test_keyboard_alone(panel, trained, spoiled):
    """One stop of Tab for the list; arrows walk, Enter shows, the menu opens and closes by keys."""
    first = panel.root.locator(".agi-capture-main").first
    first.focus()
    panel.page.keyboard.press("ArrowDown")
    second = panel.root.locator(".agi-capture-main").nth(1)
    expect(second).to_be_focused()
    expect(panel.root.locator(".agi-capture-main[tabindex='0']")).to_have_count(1)
    panel.page.keyboard.press("Enter")
    panel.expect_shown(second.locator("strong").inner_text())
    expect(second).to_have_attribute("aria-current", "true")
    panel.page.keyboard.press("Tab")
    panel.page.keyboard.press("Enter")
    expect(panel.page.get_by_role("menuitem", name="Open in a Tab")).to_be_visible()
    panel.page.keyboard.press("Escape")
    panel.root.get_by_role("button", name="Close the shown capture").click()
    expect(panel.widget).to_have_count(0)
    expect(panel.page.locator(f"{PANEL} .agi-capture-main:focus")).to_have_count(1)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_accessible(panel, axe, shots, trained, spoiled, dark):
    """axe-core finds no violation, with a capture shown, one pinned and a notice open."""
    in_theme(panel.page, dark=dark)
    panel.page.add_script_tag(path=str(axe))
    panel.pick(spoiled)
    panel.choose(trained, "Pin")
    expect(trained.get_by_role("img", name="pinned")).to_be_visible()
    panel.choose(spoiled, "Compare with")
    panel.page.screenshot(path=str(shots / f"panel-{'dark' if dark else 'light'}.png"))
    found = panel.page.evaluate(f"() => axe.run('{PANEL}')")
    said = [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found["violations"]]
    panel.page.keyboard.press("Escape")
    panel.choose(trained, "Unpin")
    assert said == []


def test_nothing_is_cut_off(panel, trained):
    """In a sidebar 300 pixels wide, text that is too long ends in an ellipsis and is whole in a tooltip."""
    panel.choose(trained, "Rename")
    panel.page.keyboard.type("a name that is by far too long for a sidebar of three hundred pixels")
    panel.page.keyboard.press("Enter")
    name = trained.locator("strong")
    expect(name).to_have_attribute("title", re.compile("three hundred pixels"))
    wide = panel.root.evaluate(
        "panel => [...panel.querySelectorAll('.agi-side-top *')].filter(one => one.getBoundingClientRect().right >"
        " panel.getBoundingClientRect().right + 1).map(one => one.className)"
    )
    assert wide == []
