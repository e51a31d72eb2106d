"""The edit of a finding: shown beside the graph, made in the cell as one step of undo, and run."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .lab import RUN
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


def test_an_edit_is_shown_made_and_taken_back(page):
    """The lines with their signs; one click makes the edit, one undo takes it back; then it can be made again."""
    patch, answer = page.details.locator(".agi-patch"), page.widget.locator(".agi-answer")
    expect(patch).to_contain_text("-h += 1.0")
    expect(patch).to_contain_text("+h = h + 1.0")
    answer.get_by_role("button", name="Apply the edit to the cell", exact=True).click()
    assert source(page) == FIXED
    page.page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.content.widgets"
        ".find(w => w.model.sharedModel.getSource().startsWith('%%autograd_inspect')).model.sharedModel.undo()"
    )
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
    """The new output of the cell has no finding any more."""
    page.widget.locator(".agi-answer").get_by_role("button", name="Apply the edit to the cell, and run it").click()
    cell = page.page.locator(".jp-Cell[data-windowed-list-index='1']")
    expect(cell.locator(READY)).to_contain_text("no findings", timeout=RUN)
    assert source(page) == FIXED
