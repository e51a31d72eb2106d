"""Timeline: ops in program order beside their lines, with what happened between them."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.ui


@pytest.fixture
def trained(program):
    return program("trained")


@pytest.fixture
def panel(trained):
    panel = trained.tab("Timeline")
    slider = panel.get_by_role("slider", name="Time")
    slider.press("End")
    return panel


def titles(panel):
    return panel.locator(".agi-moment-title").all_inner_texts()


def moment(panel, title):
    return panel.locator(".agi-moment").filter(has=panel.page.get_by_text(title, exact=True))


def test_ops_and_events_stand_in_program_order(panel):
    """Backward, the switches of the grad mode and the step are events between the ops."""
    assert titles(panel) == [
        "linear", "sigmoid", "layer_norm", "linear", "pow", "mean", "backward", "torch.no_grad()",
        "detach", "mul", "grad mode", "mul_", "AdamW.step",
    ]  # fmt: skip
    expect(moment(panel, "backward")).to_contain_text("reached 6 leaves")
    expect(moment(panel, "torch.no_grad()")).to_contain_text("gradient off")
    expect(moment(panel, "mul")).to_contain_text("no_grad")
    expect(moment(panel, "AdamW.step")).to_contain_text("wrote 6 of 6")


def test_a_version_bump_is_told(panel):
    """At the op that wrote in place: which tensor, from which version to which."""
    expect(moment(panel, "mul_")).to_contain_text("v0 → v1")


def test_the_lines_of_every_cell_stand_beside(panel):
    """Numbered as the editor's gutter has them; a line that ran twice says so."""
    source = panel.get_by_role("group", name="Source")
    assert source.get_by_role("heading").all_inner_texts() == ["In [1]", "In [2]"]
    told = [re.sub(r"\s+", " ", line) for line in source.get_by_role("listitem").all_inner_texts()]
    assert "2 loss = net(x).pow(2).mean() ×2" in told
    assert "7 optimizer.step()" in told


def test_the_slider_takes_the_program_back(trained, panel):
    """What has not happened yet is grey, in the list, in the source and in the graph; the end greys nothing."""
    slider = panel.get_by_role("slider", name="Time")
    slider.press("Home")
    expect(panel.locator(".agi-moment.agi-later")).to_have_count(12)
    slider.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuetext", "2 of 13: sigmoid")
    expect(panel.locator(".agi-moment.agi-later")).to_have_count(11)
    expect(panel.locator(".agi-code .agi-later")).to_have_count(7)
    expect(panel.locator(".agi-code .agi-now")).to_contain_text("torch.sigmoid")
    trained.tab("Graph")
    expect(trained.widget.locator("[data-node].agi-dim").first).to_be_attached()
    trained.tab("Timeline")
    slider.press("End")
    expect(panel.locator(".agi-later")).to_have_count(0)
    expect(trained.widget.locator("[data-node].agi-dim")).to_have_count(0)


def test_a_line_leads_to_the_moment_when_it_ran_first(panel):
    """And the buttons go one moment on and back."""
    panel.get_by_role("button", name="loss.backward()").click()
    slider = panel.get_by_role("slider", name="Time")
    expect(slider).to_have_attribute("aria-valuetext", "7 of 13: backward")
    panel.get_by_role("button", name="One back").click()
    expect(slider).to_have_attribute("aria-valuetext", "6 of 13: mean")
    panel.get_by_role("button", name="One forward").click()
    expect(slider).to_have_attribute("aria-valuetext", "7 of 13: backward")


def test_a_moment_selects_its_node_and_is_marked_when_selected(trained, panel):
    """Both ways; a step has its node too."""
    panel.get_by_role("button", name="AdamW.step").click()
    expect(trained.details.get_by_role("heading", level=3)).to_have_text("AdamW.step")
    trained.select("layer_norm")
    trained.tab("Timeline")
    expect(panel.locator(".agi-moment.agi-selected .agi-moment-title")).to_have_text("layer_norm")


def test_a_backward_that_raised_stands_out(program):
    """In the colour of errors, with the error."""
    panel = program("spoiled").tab("Timeline")
    expect(moment(panel, "backward")).to_have_class(re.compile("agi-alarm"))
    expect(moment(panel, "backward")).to_contain_text("raised RuntimeError")
