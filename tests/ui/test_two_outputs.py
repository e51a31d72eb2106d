"""Several outputs in one cell: each report stands there once, beside whatever else the cell prints."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .lab import RUN
from .shared import READY, shown

pytestmark = pytest.mark.ui

SETUP = """%load_ext autograd_inspector
import contextlib, torch, autograd_inspector
w = torch.ones(3, requires_grad=True)"""
TWO = """from IPython.display import HTML, display
for shift in (1.0, 2.0):
    with contextlib.suppress(RuntimeError), autograd_inspector.inspect() as inspection:
        h = w.exp()
        h += shift
        h.sum().backward()
    print("shifted by", shift)
    display(inspection.report)
display(HTML("<b class='between'>more of the cell</b>"))
w * 2"""


@pytest.fixture(scope="module")
def two(browser, lab):
    with shown(browser, lab, "two_outputs", SETUP, TWO) as found:
        expect(found.page.locator(READY)).to_have_count(2, timeout=RUN)
        yield found.page


def test_each_report_is_there_once(two, shots):
    """Two widgets, and neither of the static copies that they stand for."""
    expect(two.locator(f"{READY} .agi-answer")).to_have_count(2)
    for static in two.locator(".jp-OutputArea-child .agi-static").all():
        expect(static).to_be_hidden()
    two.screenshot(path=str(shots / "two_outputs.png"), full_page=True)


def test_what_else_the_cell_shows_stays(two):
    """Prints, HTML and the value of the last line are where the program put them."""
    area = two.locator(".jp-Cell .jp-OutputArea").last
    expect(area).to_contain_text("shifted by 1.0")
    expect(area).to_contain_text("shifted by 2.0")
    expect(area.locator("b.between")).to_be_visible()
    expect(area).to_contain_text("tensor([2., 2., 2.]")
