"""Lines that findings name carry marks in their cells, until the cell is edited."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from .lab import RUN, command, in_dark, in_light
from .shared import shown

pytestmark = pytest.mark.ui

SETUP = "import torch\n%load_ext autograd_inspector"
SPOILED = """%%autograd_inspect
w = torch.ones(3, requires_grad=True)
hidden = w.exp()
hidden.add_(1)
loss = hidden.sum()
loss.backward()"""
LINES = ["hidden = w.exp()", "hidden.add_(1)", "loss.backward()"]


@pytest.fixture(scope="module")
def page(browser, lab):
    """A notebook whose second cell spoiled a saved tensor."""
    with shown(browser, lab, "marks", SETUP, SPOILED) as found:
        yield found


@pytest.fixture
def marked(page):
    """The cell, with its marks; the page must not complain."""
    cell = page.page.locator(".jp-Notebook .jp-Cell").nth(1)
    if cell.locator(".agi-squiggle").count() == 0:
        command(page.page, "notebook:run-cell")
    cell.locator(".agi-squiggle").first.wait_for(timeout=RUN)
    yield cell
    page.page.mouse.move(1, 1)
    assert page.complaints == []


def tip(page):
    return page.page.locator("body .agi-mark-tip")


def test_the_lines_of_a_finding_are_marked_and_the_culprit_is_set_apart(marked):
    """Squiggles under the lines, one sign each in the gutter; only the culprit's is not dotted."""
    expect(marked.locator(".agi-squiggle")).to_have_count(3)
    assert lines_of(marked.locator(".agi-squiggle")) == LINES
    assert lines_of(marked.locator(".agi-squiggle.agi-culprit")) == ["hidden.add_(1)"]
    expect(marked.locator(".agi-mark-sign")).to_have_count(3)
    expect(marked.locator(".agi-mark-sign.agi-culprit")).to_have_attribute("aria-label", re.compile(r"Line 4, AG201: "))


def test_pointing_at_a_line_tells_message_and_fix(page, marked, shots):
    """On its text or on its sign, in both themes."""
    marked.locator(".agi-squiggle.agi-culprit").first.hover()
    expect(tip(page)).to_contain_text("AG201 saved-tensor-modified")
    expect(tip(page)).to_contain_text("modified here")
    expect(tip(page)).to_contain_text("expected version 0")
    expect(tip(page).locator("code", has_text="hidden.clone()")).to_be_visible()
    page.page.screenshot(path=shots / "marks-light.png")
    page.page.mouse.move(1, 1)
    expect(tip(page)).to_have_count(0)
    in_dark(page.page)
    marked.locator(".agi-mark-sign.agi-culprit").hover()
    expect(tip(page)).to_contain_text("Fix")
    page.page.screenshot(path=shots / "marks-dark.png")
    in_light(page.page)


def test_commands_lead_from_finding_to_finding(page, marked):
    """The cursor moves, the tooltip opens, a screen reader is told; Escape closes it, past the last comes the first."""
    at = page.page.get_by_role("button", name=re.compile(r"^Ln \d"))
    for line, role in ((3, "saved here"), (4, "modified here"), (6, "needed here"), (3, "saved here")):
        command(page.page, "autograd-inspector:next-finding")
        expect(tip(page)).to_contain_text(role)
        expect(at).to_contain_text(f"Ln {line}, Col 1")
        expect(page.page.locator(".agi-spoken")).to_contain_text(f"of 3, line {line}: error AG201: ")
    page.page.keyboard.press("Escape")
    expect(tip(page)).to_have_count(0)
    command(page.page, "autograd-inspector:previous-finding")
    expect(at).to_contain_text("Ln 6")


def test_the_status_bar_counts_the_findings_of_the_notebook(page, marked):
    """One click from there is the panel."""
    count = page.page.get_by_role("button", name="Autograd inspector: 1 error in this notebook")
    expect(count).to_have_text("1 error")
    count.click()
    expect(page.page.locator("#autograd-inspector-panel")).to_be_visible()


def test_marks_go_with_the_first_edit_and_the_next_capture_brings_its_own(page, marked):
    """All of them: no line is sure to be the one that ran."""
    editor = marked.locator(".cm-content")
    editor.click()
    editor.press("Control+End")
    page.page.keyboard.type("  # edited")
    expect(marked.locator(".agi-squiggle, .agi-mark-sign")).to_have_count(0)
    expect(tip(page)).to_have_count(0)
    editor.press("Control+a")
    page.page.keyboard.insert_text("%%autograd_inspect\nw = torch.ones(3, requires_grad=True)\nw.sum().backward()")
    command(page.page, "notebook:run-cell")
    expect(page.page.get_by_role("button", name=re.compile("Autograd inspector: no findings"))).to_be_visible()
    expect(marked.locator(".agi-squiggle")).to_have_count(0)
    editor.press("Control+a")
    page.page.keyboard.insert_text(SPOILED)
    command(page.page, "notebook:run-cell")
    expect(marked.locator(".agi-squiggle")).to_have_count(3)


def test_after_a_reload_only_lines_that_still_say_what_ran_are_marked(page, marked):
    """JupyterLab forgets that a cell was edited and not run again; the marks do not."""
    editor = marked.locator(".cm-content")
    editor.click()
    editor.press("Control+End")
    page.page.keyboard.insert_text("\nprint('edited')")
    reload(page)
    marked.locator(".agi-squiggle").first.wait_for(timeout=RUN)
    assert lines_of(marked.locator(".agi-squiggle")) == LINES
    editor.click()
    editor.press("Control+Home")
    page.page.keyboard.insert_text("# moved\n")
    reload(page)
    expect(page.page.get_by_role("button", name=re.compile("Autograd inspector: 1 error"))).to_be_visible(timeout=RUN)
    expect(marked.locator(".agi-squiggle, .agi-mark-sign")).to_have_count(0)


def reload(page):
    """Keep the notebook and load the page again."""
    command(page.page, "docmanager:save")
    page.page.reload()
    page.page.locator(".jp-Notebook .jp-Cell").nth(1).wait_for(timeout=RUN)


def lines_of(squiggles):
    """The code of the lines that hold them: a squiggle is drawn in pieces where the colours of the code change."""
    texts = squiggles.evaluate_all(
        "found => found.map(one => { const line = one.closest('.cm-line').cloneNode(true);"
        " line.querySelector('.agi-lens')?.remove(); return line.textContent; })"
    )
    return [text.strip() for text in dict.fromkeys(texts)]
