"""A cell failed in autograd and nobody looked: the panel offers to run it again with the inspector."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .lab import RUN, command, opened
from .shared import SIZE, shut_down, watched

pytestmark = pytest.mark.ui

SPOILED = "w = torch.ones(3, requires_grad=True)\nhidden = w.exp()\nhidden.add_(1)\nhidden.sum().backward()"
CELLS = ["import torch", SPOILED, "%load_ext autograd_inspector", "1 / 0"]


@pytest.fixture
def page(browser, lab):
    """A notebook that stopped at its second cell; the inspector is not loaded."""
    context = browser.new_context(viewport=SIZE)
    found = watched(context.new_page())
    try:
        opened(found.page, lab.notebook("offer.ipynb", *CELLS))
        yield found
        assert found.complaints == []
    finally:
        context.close()
        shut_down(lab)


def run(page, number):
    page.page.evaluate("(n) => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = n; }", number)
    command(page.page, "notebook:run-cell")


def test_a_cell_that_failed_in_autograd_can_be_run_again_with_the_inspector(page, shots):
    """Refused while the magics are not loaded; then the header is added, the cell runs, and the offer is gone."""
    command(page.page, "autograd-inspector:show-panel")
    offer = page.page.locator(".agi-offer")
    expect(offer).to_contain_text("In [2] failed in autograd", timeout=RUN)
    expect(offer).to_contain_text("modified by an inplace operation")
    page.page.screenshot(path=shots / "offer-light.png")
    again = offer.get_by_role("button", name="Run again with the inspector")
    again.click()
    expect(page.page.locator(".jp-toast-message").filter(has_text="%load_ext autograd_inspector")).to_be_visible()
    run(page, 2)
    expect(offer).to_contain_text("In [2]")
    again.click()
    cell = page.page.locator(".jp-Notebook .jp-Cell").nth(1)
    expect(cell.locator(".agi-squiggle").first).to_be_visible(timeout=RUN)
    expect(cell.locator(".cm-line").first).to_have_text("%%autograd_inspect")
    expect(offer).to_be_hidden()


def test_other_errors_offer_nothing(page):
    """Nor does dismissing leave anything behind."""
    command(page.page, "autograd-inspector:show-panel")
    offer = page.page.locator(".agi-offer")
    offer.get_by_role("button", name="Dismiss").click(timeout=RUN)
    expect(offer).to_be_hidden()
    run(page, 3)
    expect(page.page.locator(".jp-Notebook .jp-Cell").nth(3)).to_contain_text("ZeroDivisionError")
    expect(offer).to_be_hidden()
