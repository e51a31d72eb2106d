"""Optimizer: where every parameter, its gradient and its state live."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from .lab import in_dark, in_light

pytestmark = pytest.mark.ui


@pytest.fixture
def misplaced(program):
    return program("misplaced")


@pytest.fixture
def panel(misplaced):
    panel = misplaced.tab("Optimizer")
    for name in ("Fold by module", "Only mismatches (2)", "Every entry"):
        switch = panel.get_by_role("button", name=name)
        if switch.get_attribute("aria-pressed") == "true":
            switch.click()
    panel.get_by_role("searchbox").fill("")
    return panel


def names(panel):
    return [row.get_attribute("data-parameter") for row in panel.locator("tr[data-parameter]").all()]


def entries(panel, name):
    """The tensors of a parameter, opened: name -> the other cells."""
    opener = panel.get_by_role("button", name=f"Entries of {name}", exact=True)
    if opener.get_attribute("aria-expanded") == "false":
        opener.click()
    row = panel.locator(f"tr[data-parameter='{name}']")
    found = row.locator("xpath=following-sibling::tr").evaluate_all(
        "rows => { const end = rows.findIndex(row => !row.dataset.entry);"
        " return (end < 0 ? rows : rows.slice(0, end)).map(row => [...row.cells].map(cell => cell.textContent)) }"
    )
    return {entry: [cell for cell in cells if cell] for entry, *cells in found}


def test_every_tensor_has_shape_dtype_device_and_bytes(panel):
    """The parameter, its gradient and each entry of its state."""
    assert entries(panel, "model.1.0.weight") == {
        "parameter": ["8×8", "float32", "cpu", "256 B"],
        "gradient": ["8×8", "float32", "cpu", "256 B"],
        "gradient from": ["a loss In [4], line 7"],
        "step": ["scalar", "float32", "cpu", "4 B"],
        "exp_avg": ["8×8", "float32", "cpu", "256 B"],
        "exp_avg_sq": ["8×8", "float32", "cpu", "256 B"],
    }


def test_the_bars_have_a_key(panel):
    """Each number stands beside a patch of the colour that its part of the bar has."""
    key, bar = (panel.locator(f".agi-bar-row > {part} .agi-meter") for part in (".agi-key", ".agi-bar-track"))
    colour = "all => all.map(one => getComputedStyle(one).backgroundColor)"
    assert key.count() > 1
    assert key.evaluate_all(colour) == bar.evaluate_all(colour)
    assert key.evaluate_all("all => all.every(one => one.getBoundingClientRect().width > 4)")


def test_mismatches_stand_out(misplaced, panel):
    """Counted on the tab, marked in the row in words and in the entry; one switch leaves only them."""
    expect(misplaced.widget.get_by_role("tab", name="Optimizer")).to_contain_text("2")
    wrong = panel.locator("tr.agi-wrong")
    assert [row.get_attribute("data-parameter") for row in wrong.all()] == ["model.0.0.weight", "model.0.2.bias"]
    expect(wrong.first).to_contain_text("⚠ on meta: exp_avg")
    expect(wrong.last).to_contain_text("⚠ bfloat16: exp_avg_sq")
    assert entries(panel, "model.0.0.weight")["exp_avg"] == ["8×8", "float32", "meta", "256 B"]
    expect(panel.locator("tr.agi-entry .agi-unlike")).to_have_text(["meta", "bfloat16"])
    panel.get_by_role("button", name="Only mismatches (2)").click()
    assert names(panel) == ["model.0.0.weight", "model.0.2.bias"]


def test_the_table_sorts(panel):
    """By any column, up and down; aria-sort says how."""
    panel.get_by_role("button", name="Sort by bytes").click()
    expect(panel.locator("th[aria-sort='descending']")).to_contain_text("bytes")
    assert names(panel)[0].endswith("weight")
    panel.get_by_role("button", name="Sort by bytes").click()
    expect(panel.locator("th[aria-sort='ascending']")).to_contain_text("bytes")
    assert names(panel)[0] == "model.3.bias"
    panel.get_by_role("button", name="Sort by parameter").click()
    assert names(panel) == sorted(names(panel))


def test_the_table_filters(panel):
    """By anything that a row says: a name, a device of its state."""
    panel.get_by_role("searchbox", name="Filter parameters").fill("bias")
    assert len(names(panel)) == 7
    panel.get_by_role("searchbox", name="Filter parameters").fill("meta")
    assert names(panel) == ["model.0.0.weight"]
    panel.get_by_role("searchbox", name="Filter parameters").fill("nothing of that kind")
    expect(panel).to_contain_text("No parameter matches.")


def test_the_table_folds_by_module(panel):
    """A module opens and closes by click and by keyboard; one with a mismatch is open at first."""
    panel.get_by_role("button", name="Fold by module").click()
    groups = panel.locator("tr.agi-group button")
    expect(groups).to_have_count(7)
    closed = panel.get_by_role("button", name="▸ model.1.0")
    closed.focus()
    panel.page.keyboard.press("Enter")
    expect(panel.get_by_role("button", name="▾ model.1.0")).to_be_focused()
    assert {"model.1.0.weight", "model.1.0.bias"} <= set(names(panel))
    expect(panel.locator("tr.agi-group.agi-wrong").first).to_contain_text("⚠ 1 mismatch")


def test_bars_tell_bytes_by_device_and_kind(panel):
    """In numbers as well as in lengths, with the kinds named beside their colours."""
    devices, dtypes = (panel.locator(".agi-bars").nth(n).locator(".agi-bar-row") for n in range(2))
    assert devices.locator(".agi-bar-key").all_inner_texts() == ["cpu", "meta"]
    expect(devices.last).to_contain_text("state 256 B")
    expect(devices.first).to_contain_text(re.compile(r"parameters 1.76 kB.*gradients 1.76 kB.*state"))
    assert dtypes.locator(".agi-bar-key").all_inner_texts() == ["float32", "bfloat16"]
    long, short = (devices.nth(n).locator(".agi-bar-track .agi-state").evaluate("e => e.offsetWidth") for n in range(2))
    assert long > 5 * short > 0


def test_a_row_selects_its_node_and_a_node_its_row(misplaced, panel):
    """A click anywhere in the row; the selected node's row is marked and in view."""
    panel.locator("tr[data-parameter='model.1.2.weight'] td").nth(1).click()
    expect(misplaced.details.get_by_role("heading", level=3)).to_have_text("model.1.2.weight")
    expect(panel.locator("tr.agi-selected")).to_have_attribute("data-parameter", "model.1.2.weight")
    misplaced.select("model.3.bias")
    misplaced.tab("Optimizer")
    expect(panel.locator("tr.agi-selected")).to_have_attribute("data-parameter", "model.3.bias")
    expect(panel.locator("tr.agi-selected")).to_be_in_viewport()


def test_the_settings_of_every_group_are_told(panel):
    """Folded away under the optimizer's name, with its number of steps."""
    head = panel.locator(".agi-optimizer-head")
    expect(head.locator("summary")).to_contain_text("AdamW")
    expect(head.locator("summary")).to_contain_text("1 step")
    head.locator("summary").click()
    expect(head).to_contain_text("lr=0.001")


def test_the_table_fits_beside_the_details(panel):
    """No column is out of sight at the usual width."""
    table = panel.get_by_role("group", name="Placement")
    assert table.evaluate("e => e.scrollWidth - e.clientWidth") <= 1


def test_losses_that_a_gradient_is_the_sum_of(program, shots):
    """The row counts them; opened, each stands with the line of its backward(), which a click goes to."""
    summed = program("summed")
    panel = summed.tab("Optimizer")
    row = panel.locator("tr[data-parameter='critic.weight']")
    expect(row).to_contain_text("yes of 2 losses")
    expect(panel.locator("tr[data-parameter='generator.weight']")).not_to_contain_text("losses")
    entries(panel, "critic.weight")
    origin = panel.locator("tr[data-entry='gradient from']")
    expect(origin).to_contain_text(
        re.compile(r"g_loss In \[\d+\], line 6\s*d_loss In \[\d+\], line 9, not cleared between")
    )
    in_light(summed.page)
    summed.widget.screenshot(path=str(shots / "origins-light.png"))
    in_dark(summed.page)
    summed.widget.screenshot(path=str(shots / "origins-dark.png"))
    in_light(summed.page)
    origin.get_by_role("button", name=re.compile("Go to .*line 9")).click()
    expect(summed.page.get_by_role("button", name=re.compile(r"^Ln 9, "))).to_be_visible()


def test_details_of_a_parameter_name_its_losses(program, shots):
    """Selected in the graph, a parameter says the same beside the picture."""
    summed = program("summed")
    summed.tab("Optimizer").get_by_role("button", name="critic.bias", exact=True).click()
    summed.tab("Graph")
    expect(summed.details).to_contain_text("Gradient from")
    expect(summed.details).to_contain_text(re.compile(r"g_loss.*d_loss", re.DOTALL))
    expect(summed.details).to_contain_text("not cleared between")
    summed.widget.screenshot(path=str(shots / "origins-details.png"))
