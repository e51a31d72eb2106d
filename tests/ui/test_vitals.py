"""The vitals tab: what changed over the steps of a run, in which module."""

from __future__ import annotations

import csv
import struct
import xml.etree.ElementTree as ET

import pytest
from playwright.sync_api import expect

from .lab import in_dark, in_light
from .programs import SETUP
from .shared import shown

pytestmark = pytest.mark.ui

LOOP = """%%autograd_inspect --values
for step in range(60):
    loss = net(torch.randn(3, 4)).pow(2).mean()
    if step == 40:
        loss = loss * float("nan")
    loss.backward()
    if step < 40:
        optimizer.step()
    else:
        with torch.no_grad():
            for parameter in net.parameters():
                parameter.grad.nan_to_num_()
        optimizer.step()
    optimizer.zero_grad()
"""
ROWS = "gradient norm, modules by steps"


@pytest.fixture(scope="module")
def page(browser, lab):
    with shown(browser, lab, "vitals", SETUP, LOOP) as found:
        yield found
        assert found.complaints == []


@pytest.fixture
def panel(page):
    panel = page.tab("Vitals")
    panel.get_by_role("combobox", name="Quantity").select_option(label="gradient norm")
    return panel


def test_the_pointer_reads_a_cell(page, panel):
    """The cell under the pointer is named with its step and value, and the memory of that step is beside it."""
    heat = panel.locator(".agi-vital", has_text="encoder").locator(".agi-heat")
    box = heat.bounding_box()
    page.page.mouse.move(box["x"] + box["width"] * 9.5 / 60, box["y"] + box["height"] / 2)
    expect(panel.locator(".agi-readout")).to_contain_text("net.encoder, step 10: 0.")
    expect(panel.get_by_role("heading", name="Memory in step 10")).to_be_visible()


def test_a_zero_gradient_is_not_the_lowest_shade(panel):
    """The steps in which every gradient was exactly 0 are thin lines, with a legend."""
    row = panel.locator(".agi-vital", has_text="encoder")
    expect(row.locator("path.agi-shade-zero")).to_have_count(1)
    expect(panel.locator(".agi-scale")).to_contain_text("exactly 0")


def test_dragging_over_the_axis_chooses_steps(page, panel):
    """What is dragged over is shown as wide as before; one button shows everything again."""
    strip = panel.locator(".agi-axis-strip")
    box = strip.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.page.mouse.move(box["x"] + box["width"] * 10.5 / 60, middle)
    page.page.mouse.down()
    page.page.mouse.move(box["x"] + box["width"] * 19.5 / 60, middle, steps=4)
    expect(panel.locator(".agi-brush")).to_be_visible()
    page.page.mouse.up()
    expect(panel.get_by_role("spinbutton", name="First step")).to_have_value("11")
    expect(panel.get_by_role("spinbutton", name="Last step")).to_have_value("20")
    panel.get_by_role("button", name="All steps").click()
    expect(panel.get_by_role("spinbutton", name="Last step")).to_have_value("60")


def test_a_row_leads_to_its_module_in_the_graph(page, panel):
    """With the keyboard alone: the row that is read is selected, its lines are in the details."""
    panel.get_by_role("group", name=ROWS).press("Home")
    panel.get_by_role("group", name=ROWS).press("ArrowDown")
    panel.get_by_role("group", name=ROWS).press("Enter")
    expect(page.widget.get_by_role("tab", name="Graph")).to_have_attribute("aria-selected", "true")
    expect(page.details).to_contain_text("net.norm")


@pytest.mark.parametrize("form", ["csv", "svg", "png"])
def test_export(page, panel, tmp_path, form):
    """All figures as a table, the heat map as pictures."""
    menu = panel.locator(".agi-menu")
    menu.locator("summary").click()
    with page.page.expect_download() as download:
        menu.get_by_role("button", name=form.upper(), exact=True).click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    assert path.name == f"vitals.{form}"
    if form == "csv":
        rows = list(csv.DictReader(path.open(encoding="utf-8", newline="")))
        assert {row["quantity"] for row in rows} >= {"gradient", "update", "deviation", "saved bytes"}
        assert len([row for row in rows if (row["quantity"], row["module"]) == ("gradient", "net.head")]) == 60
    elif form == "svg":
        texts = [element.text for element in ET.parse(path).iter("{http://www.w3.org/2000/svg}text")]
        assert texts[0] == "gradient norm, steps 1 to 60"
        assert "net.head" in texts
    else:
        head = path.read_bytes()[:24]
        assert head[:8] == b"\x89PNG\r\n\x1a\n"
        assert struct.unpack(">II", head[16:24]) > (600, 100)


def test_accessible_in_both_themes(page, panel, axe, shots):
    """axe-core finds no violation, whatever is read."""
    page.page.add_script_tag(path=axe)
    for theme, switched in (("light", in_light), ("dark", in_dark)):
        switched(page.page)
        expect(page.widget).to_have_attribute("data-theme", theme)
        found = page.page.evaluate("async () => (await axe.run('.autograd-inspector')).violations")
        assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found] == []
        page.widget.screenshot(path=shots / f"vitals-{theme}.png")
    in_light(page.page)
