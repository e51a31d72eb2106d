"""The edit of a finding: shown beside the graph and in the cell's margin, made as one step of undo, and run."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .lab import RUN, command, in_dark, in_light
from .panel import PANEL
from .shared import READY, shown

pytestmark = pytest.mark.ui

SETUP = "%load_ext autograd_inspector\nimport torch\nfrom torch import nn"
FAILING = """%%autograd_inspect
net = nn.Sequential(nn.Linear(4, 8), nn.Sigmoid(), nn.Linear(8, 1))
h = torch.sigmoid(net[0](torch.randn(16, 4)))
out = net[2](h)
h += 1.0  # é
out.pow(2).mean().backward()"""
FIXED = FAILING.replace("h += 1.0", "h = h + 1.0")
SOURCE = (
    "() => window.jupyterapp.shell.currentWidget.content.widgets.map(w => w.model.sharedModel.getSource())"
    ".find(text => text.startsWith('%%autograd_inspect'))"
)


@pytest.fixture
def page(browser, lab):
    """A cell that fails."""
    with shown(browser, lab, "apply", SETUP, FAILING) as found:
        yield found.of(1)
        assert found.complaints == []


def source(page):
    """The text of the cell, without the white space at its end."""
    return page.page.evaluate(SOURCE).rstrip()


UNDO = (
    "() => window.jupyterapp.shell.currentWidget.content.widgets"
    ".find(w => w.model.sharedModel.getSource().startsWith('%%autograd_inspect')).model.sharedModel.undo()"
)


def dialog(page):
    return page.page.locator(".agi-preview-dialog")


def menu(page):
    return page.page.locator(".agi-fixes-menu")


def told(page):
    """What the page says of the outcome, in a corner."""
    return page.page.locator(".Toastify__toast")


def test_an_edit_is_shown_made_and_taken_back(page):
    """The lines with their signs; one click makes the edit, one undo takes it back; then it can be made again."""
    patch, answer = page.details.locator(".agi-patch"), page.widget.locator(".agi-answer")
    expect(patch).to_contain_text("-h += 1.0")
    expect(patch).to_contain_text("+h = h + 1.0")
    answer.get_by_role("button", name="Apply the edit to the cell", exact=True).click()
    assert source(page) == FIXED
    page.page.evaluate(UNDO)
    assert source(page) == FAILING
    answer.get_by_role("button", name="Apply the edit to the cell", exact=True).click()
    assert source(page) == FIXED


def test_a_cell_that_was_edited_meanwhile_stays_as_it_is(page):
    """The widget says why; nothing of the user's is lost."""
    page.page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.content.widgets"
        ".find(w => w.model.sharedModel.getSource().startsWith('%%autograd_inspect'))"
        ".model.sharedModel.setSource('%%autograd_inspect\\nh = 1')"
    )
    page.widget.locator(".agi-answer").get_by_role("button", name="Apply the edit to the cell", exact=True).click()
    assert source(page) == "%%autograd_inspect\nh = 1"
    expect(page.widget.get_by_text("In [2] has changed since it ran: run it again").first).to_be_attached()


def test_an_edit_that_is_made_and_run_cures_the_finding(page):
    """The new output of the cell has no finding any more, and the page says that the finding is gone."""
    page.widget.locator(".agi-answer").get_by_role("button", name="Apply the edit to the cell, and run it").click()
    cell = page.page.locator(".jp-Cell[data-windowed-list-index='1']")
    expect(cell.locator(READY)).to_contain_text("no findings", timeout=RUN)
    assert source(page) == FIXED
    expect(told(page)).to_contain_text("AG201 is gone. Nothing else is reported.")


def test_a_fix_is_previewed_before_anything_changes(page, shots):
    """Cell before and after, side by side; Escape changes nothing, Apply makes the edit as one step of undo."""
    preview = page.widget.locator(".agi-answer").get_by_role("button", name="Preview the edit of the cell")
    preview.click()
    before, after = dialog(page).locator(".cm-merge-a"), dialog(page).locator(".cm-merge-b")
    expect(before.locator(".cm-changedLine")).to_have_text("h += 1.0  # é")
    expect(after.locator(".cm-changedLine")).to_have_text("h = h + 1.0  # é")
    page.page.screenshot(path=shots / "preview-light.png")
    in_dark(page.page)
    page.page.screenshot(path=shots / "preview-dark.png")
    in_light(page.page)
    page.page.keyboard.press("Escape")
    expect(dialog(page)).to_have_count(0)
    assert source(page) == FAILING
    preview.click()
    dialog(page).get_by_role("button", name="Apply", exact=True).click()
    expect(dialog(page)).to_have_count(0)
    assert source(page) == FIXED
    page.page.evaluate(UNDO)
    assert source(page) == FAILING


def test_a_light_bulb_stands_at_the_line_with_a_fix(page, shots):
    """It opens a menu that previews, applies, or applies and runs; with the edit it is gone, like the marks."""
    cell = page.page.locator(".jp-Cell[data-windowed-list-index='1']")
    expect(cell.locator(".agi-bulb")).to_have_count(1)
    expect(cell.locator(".agi-bulb")).to_have_attribute("aria-label", "Fixes of line 5: AG201")
    cell.locator(".agi-bulb").click()
    expect(menu(page).get_by_role("menuitem")).to_have_count(3)
    page.page.screenshot(path=shots / "bulb-light.png")
    in_dark(page.page)
    page.page.screenshot(path=shots / "bulb-dark.png")
    in_light(page.page)
    menu(page).get_by_text("Preview fix of AG201").click()
    dialog(page).get_by_role("button", name="Apply and Run").click()
    expect(told(page)).to_contain_text("AG201 is gone", timeout=RUN)
    assert source(page) == FIXED
    expect(cell.locator(".agi-bulb")).to_have_count(0)


def test_the_keyboard_alone_leads_to_a_fix(page):
    """To the finding, its fixes, and down the menu: the edit is made without a pointer."""
    command(page.page, "autograd-inspector:next-finding")
    command(page.page, "autograd-inspector:next-finding")
    page.page.keyboard.press("Control+.")
    expect(menu(page)).to_be_visible()
    page.page.keyboard.press("ArrowDown")
    page.page.keyboard.press("ArrowDown")
    page.page.keyboard.press("Enter")
    expect(menu(page)).to_have_count(0)
    assert source(page) == FIXED


def test_the_panel_previews_and_applies_as_well(page):
    """The same buttons at the same finding, in the sidebar."""
    command(page.page, "autograd-inspector:show-panel")
    panel = page.page.locator(PANEL)
    panel.locator("[data-capture] .agi-capture-main").click()
    panel.locator(READY).get_by_role("button", name="Preview the edit of the cell").first.click()
    dialog(page).get_by_role("button", name="Apply", exact=True).click()
    assert source(page) == FIXED
