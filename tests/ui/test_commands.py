"""Commands, the toolbar's switch and the settings, in a real JupyterLab."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import expect

from .lab import RUN, command, idle, in_dark, in_light
from .settings import change
from .shared import READY, SIZE, shut_down, watched

pytestmark = pytest.mark.ui

PLAIN = "import torch\nw = torch.ones(2, requires_grad=True)\nw.sum().backward()"
KEPT = "from autograd_inspector.kernel.hub.kernel import _begun\nprint('kept:', _begun().captures.keep)"
CELLS = ["%load_ext autograd_inspector", PLAIN, "%%time\nx = 1", "%autograd_inspect off", KEPT]
HEADED = f"%%autograd_inspect\n{PLAIN}"


@pytest.fixture(scope="module")
def page(browser, lab):
    """A notebook in which nothing ran yet, under settings of the user's own."""
    change(lab, {"depth": 2, "colours": "safe", "keep": 7, "openOnError": False})
    context = browser.new_context(viewport=SIZE, accept_downloads=True)
    found = watched(context.new_page())
    try:
        idle(found.page, lab.notebook("commands.ipynb", *CELLS))
        yield found
        assert found.complaints == []
    finally:
        context.close()
        shut_down(lab)
        change(lab, {})


def activate(page, number):
    """Make a cell the active one; returns it."""
    page.page.evaluate("(n) => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = n; }", number)
    return page.page.locator(".jp-Notebook .jp-Cell").nth(number)


def source(page, number):
    return page.page.evaluate(
        "(n) => window.jupyterapp.shell.currentWidget.content.widgets[n].model.sharedModel.getSource()", number
    )


def run(page, number):
    activate(page, number)
    command(page.page, "notebook:run-cell")


def told(page, text):
    """A notification says just that; others may still stand beside it."""
    expect(page.page.locator(".jp-toast-message").get_by_text(text, exact=True)).to_be_visible()


def switch(page):
    return page.page.locator(".jp-NotebookPanel-toolbar .agi-every button")


def test_settings_reach_the_page(page):
    """Widgets read them from the root element."""
    root = page.page.locator("html")
    expect(root).to_have_attribute("data-autograd-inspector-depth", "2")
    expect(root).to_have_attribute("data-autograd-inspector-colours", "safe")


def test_the_palette_lists_the_commands(page):
    """Each says what arguments it takes."""
    page.page.keyboard.press("Control+Shift+c")
    page.page.locator(".lm-CommandPalette-input").fill("autograd inspector")
    for label in ("Inspect This Cell", "Inspect Every Cell", "Next Finding", "Previous Finding"):
        expect(page.page.locator(".lm-CommandPalette-itemLabel", has_text=label)).to_be_visible()
    page.page.keyboard.press("Escape")
    described = page.page.evaluate(
        "async () => Promise.all(window.jupyterapp.commands.listCommands()"
        ".filter(id => id.startsWith('autograd-inspector:'))"
        ".map(async id => [id, (await window.jupyterapp.commands.describedBy(id)).args?.type]))"
    )
    assert len(described) >= 6
    assert [name for name, kind in described if kind != "object"] == []


def test_inspect_every_cell_is_refused_where_the_magics_are_not_loaded(page):
    """In one line, and the switch stays as it is."""
    switch(page).click()
    told(page, "Run `%load_ext autograd_inspector` in this notebook first")
    expect(switch(page)).to_have_attribute("aria-pressed", "false")


def test_the_header_comes_and_goes_and_another_magic_keeps_its_place(page):
    """By its shortcut too; one step of undo takes it back."""
    activate(page, 1)
    command(page.page, "autograd-inspector:inspect-cell")
    assert source(page, 1) == HEADED
    command(page.page, "autograd-inspector:inspect-cell")
    assert source(page, 1) == PLAIN
    page.page.locator(".jp-Notebook .jp-Cell").nth(1).locator(".jp-InputPrompt").click()
    page.page.keyboard.press("Alt+Shift+i")
    assert source(page, 1) == HEADED
    command(page.page, "notebook:undo")
    assert source(page, 1) == PLAIN
    activate(page, 2)
    command(page.page, "autograd-inspector:inspect-cell")
    told(page, "This cell begins with %%time: a cell has one magic")
    assert source(page, 2) == "%%time\nx = 1"


def test_the_switch_follows_the_kernel(page, shots):
    """Pressed when the kernel inspects every cell, whoever asked for it."""
    run(page, 0)
    expect(switch(page)).to_have_attribute("aria-pressed", "false")
    prompt = page.page.locator(".jp-Notebook .jp-Cell").first.locator(".jp-InputPrompt")
    expect(prompt).to_have_text("[1]:", timeout=RUN)
    switch(page).click()
    expect(switch(page)).to_have_attribute("aria-pressed", "true")
    run(page, 1)
    page.page.wait_for_selector(READY, timeout=RUN)
    page.page.screenshot(path=shots / "toolbar-light.png")
    in_dark(page.page)
    page.page.screenshot(path=shots / "toolbar-dark.png")
    in_light(page.page)
    run(page, 3)
    expect(switch(page)).to_have_attribute("aria-pressed", "false")
    command(page.page, "autograd-inspector:inspect-every")
    expect(switch(page)).to_have_attribute("aria-pressed", "true")


def test_the_kernel_keeps_as_many_captures_as_the_user_wants(page):
    """It was told when it connected."""
    run(page, 4)
    expect(page.page.locator(".jp-Notebook .jp-Cell").nth(4)).to_contain_text("kept: 7")


def test_a_capture_is_exported_in_the_format_that_is_chosen(page):
    """Asked for where no argument says it; the file is named after the capture."""
    with page.page.expect_download() as saved:
        command(page.page, "autograd-inspector:export", {"format": "json"})
    assert re.fullmatch(r"autograd-In-\d+\.json", saved.value.suggested_filename)
    assert json.loads(saved.value.path().read_text())["capture"]["ops"]
    with page.page.expect_download() as saved:
        page.page.evaluate("() => { window.jupyterapp.commands.execute('autograd-inspector:export'); }")
        page.page.locator(".jp-Dialog select").select_option("Text")
        page.page.locator(".jp-Dialog .jp-mod-accept").click()
    assert re.fullmatch(r"autograd-In-\d+\.txt", saved.value.suggested_filename)
