"""A long run under one cell: the steps over time, above the moments of the steps that are there in full."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .lab import in_dark, in_light
from .programs import SETUP
from .shared import shown

pytestmark = pytest.mark.ui

LOOP = """%%autograd_inspect
for step in range(200):
    hidden = net(torch.ones(3, 4))
    loss = hidden.pow(2).mean()
    if step == 120:
        loss = loss + hidden.exp().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.fixture(scope="module")
def page(browser, lab):
    with shown(browser, lab, "steps", SETUP, LOOP) as found:
        yield found
        assert found.complaints == []


@pytest.fixture
def panel(page):
    return page.tab("Timeline")


def test_the_figures_of_all_steps_are_drawn(panel):
    """Each with a line over the steps that says in words what it shows; what is always the same has none."""
    run = panel.locator(".agi-run")
    expect(run.locator("summary")).to_contain_text("200 complete steps")
    nodes = run.get_by_role("row").filter(has_text="autograd nodes")
    expect(nodes.get_by_role("img")).to_have_accessible_name("autograd nodes over 200 steps: 14 to 17")
    written = run.get_by_role("row").filter(has_text="parameters written")
    expect(written).to_contain_text("6 of 6")
    expect(written.get_by_role("img")).to_have_count(0)


def test_what_was_new_is_told_with_its_step_and_line(panel):
    """A branch that was never taken before."""
    expect(panel.locator(".agi-run li")).to_contain_text(["step 121 exp ran here"])
    expect(panel.locator(".agi-run li").first).to_contain_text("In [2], line 6")


def test_the_moments_are_those_of_the_last_steps(panel):
    """Two whole steps at least: what one leaves to the next can be seen."""
    steps = panel.locator(".agi-moment-title", has_text="AdamW.step")
    assert 2 <= steps.count() <= 6


def test_accessible_in_both_themes(page, panel, axe, shots):
    """axe-core finds no violation with the plots open."""
    page.page.add_script_tag(path=axe)
    for theme, switched in (("light", in_light), ("dark", in_dark)):
        switched(page.page)
        expect(page.widget).to_have_attribute("data-theme", theme)
        found = page.page.evaluate("async () => (await axe.run('.autograd-inspector')).violations")
        assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found] == []
        page.widget.screenshot(path=shots / f"steps-{theme}.png")
    in_light(page.page)
