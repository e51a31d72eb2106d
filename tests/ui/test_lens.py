"""A culprit's line says why, in the editor itself; the status bar leads there from wherever the page is scrolled."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from .lab import RUN, command, in_dark, in_light, opened
from .settings import change
from .shared import READY, SIZE, shown, shut_down, watched

pytestmark = pytest.mark.ui

SETUP = "import torch\n%load_ext autograd_inspector"
ABOVE = "\n".join(f"step_{n} = {n}" for n in range(70))
SPOILED = f"""%%autograd_inspect
w = torch.ones(3, requires_grad=True)
hidden = w.exp()
hidden += 1
loss = hidden.sum()
loss.backward()
{ABOVE}"""
LONG = SPOILED.replace("hidden += 1\n", f"hidden += 1  # {'long ' * 30}\n")


@pytest.fixture(scope="module")
def page(browser, lab):
    """A notebook whose second cell spoiled a saved tensor in its fourth line of many, before a cell below it."""
    with shown(browser, lab, "lens", SETUP, SPOILED, "print('below')") as found:
        yield found


@pytest.fixture
def cell(page):
    """The cell, with its marks; the page must not complain."""
    yield inspected(page, SPOILED)
    page.page.mouse.move(1, 1)
    assert page.complaints == []


def inspected(page, text):
    """The second cell, after that text ran in it."""
    found = page.page.locator(".jp-Notebook .jp-Cell").nth(1)
    for source in ("", text):
        page.page.evaluate(
            "text => { const { content } = window.jupyterapp.shell.currentWidget; content.activeCellIndex = 1;"
            " content.activeCell.model.sharedModel.setSource(text); }",
            source,
        )
        if not source:
            expect(found.locator(".agi-lens")).to_have_count(0)
    command(page.page, "notebook:run-cell")
    found.locator(".agi-lens").wait_for(timeout=RUN)
    return found


def scroll_to(page, index):
    page.page.evaluate("n => window.jupyterapp.shell.currentWidget.content.scrollToItem(n, 'end')", index)


def test_the_culprit_says_why_at_the_end_of_its_line(page, cell, shots):
    """Rule, phrase and reason in one line, which is as high as any other and makes none of them wider; both themes."""
    lens = cell.locator(".agi-lens")
    expect(lens).to_have_count(1)
    expect(lens).to_contain_text("AG201 saved-tensor-modified: hidden was saved for backward by exp")
    culprit = cell.locator(".cm-line", has=page.page.locator(".agi-lens"))
    expect(culprit).to_contain_text("hidden += 1")
    assert culprit.bounding_box()["height"] == cell.locator(".cm-line").first.bounding_box()["height"]
    assert overflow(cell) == 0
    page.page.screenshot(path=shots / "lens-light.png")
    in_dark(page.page)
    page.page.screenshot(path=shots / "lens-dark.png")
    in_light(page.page)


def test_where_the_code_leaves_no_room_the_words_stand_below_it(page, shots):
    """In full width; as soon as there is room they are behind the code again."""
    cell = inspected(page, LONG)
    below = cell.locator(".agi-lens-below")
    expect(below).to_contain_text("AG201 saved-tensor-modified")
    assert below.bounding_box()["width"] > 400
    page.page.screenshot(path=shots / "lens-below.png")
    cell = inspected(page, SPOILED)
    expect(below).to_have_count(0)
    page.page.set_viewport_size({"width": 700, "height": 1000})
    expect(below).to_be_visible()
    expect(below.get_by_text("Preview fix")).to_be_in_viewport()
    assert right(below.locator(".agi-lens")) <= right(cell.locator(".cm-scroller"))
    page.page.set_viewport_size(SIZE)
    expect(below).to_have_count(0)


def test_pointing_at_the_words_tells_all_and_choosing_them_keeps_it_open(page, cell):
    """The same tooltip as the line's; the cursor goes to the line."""
    tip = page.page.locator("body .agi-mark-tip")
    cell.locator(".agi-lens-words").hover()
    expect(tip).to_contain_text("Fix")
    page.page.mouse.move(1, 1)
    expect(tip).to_have_count(0)
    cell.locator(".agi-lens-words").click()
    page.page.mouse.move(1, 1)
    expect(tip).to_contain_text("modified here")
    expect(page.page.get_by_role("button", name="Ln 4, Col 1")).to_be_visible()


def test_the_fix_is_one_click_away(page, cell):
    """The button opens the comparison; once applied, the words are gone with the marks."""
    cell.locator(".agi-lens-fix").click()
    dialog = page.page.locator(".agi-preview-dialog")
    expect(dialog).to_contain_text("hidden = hidden + 1")
    dialog.get_by_role("button", name="Apply", exact=True).click()
    expect(cell.locator(".cm-content")).to_contain_text("hidden = hidden + 1")
    expect(cell.locator(".agi-lens")).to_have_count(0)


def test_a_screen_reader_hears_it_once(page, cell, axe):
    """The sign in the gutter says it; the words are hidden, and no stop for the Tab key."""
    page.page.add_script_tag(path=axe)
    broken = page.page.evaluate(
        "async () => (await axe.run('.jp-Notebook',"
        " { runOnly: ['aria-hidden-focus', 'color-contrast', 'button-name'] }))"
        ".violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ' ' + html))"
        ".filter(text => text.includes('agi-'))"
    )
    assert broken == []
    assert cell.locator(".agi-lens").get_attribute("aria-hidden") == "true"


def test_the_status_bar_leads_to_the_line_from_below(page, cell):
    """Far down, where only the end of the output is seen; after an edit of the line it leads to the panel."""
    scroll_to(page, 2)
    lens = cell.locator(".agi-lens")
    expect(lens).not_to_be_in_viewport()
    answer = page.page.get_by_role("button", name=re.compile(r"AG201 saved-tensor-modified · line 4: hidden \+= 1\. "))
    expect(answer).to_be_in_viewport()
    answer.click()
    expect(lens).to_be_in_viewport()
    expect(page.page.locator("body .agi-mark-tip")).to_contain_text("modified here")
    expect(page.page.locator("#autograd-inspector-panel")).to_be_hidden()
    page.page.keyboard.type("# ")
    expect(lens).to_have_count(0)
    answer.click()
    expect(page.page.locator("#autograd-inspector-panel")).to_be_visible()


def test_a_setting_leaves_only_the_marks(browser, lab):
    """Then no line says anything; squiggles and signs stay."""
    change(lab, {"reasons": False})
    context = browser.new_context(viewport=SIZE)
    try:
        found = watched(context.new_page())
        opened(found.page, lab.notebook("no_lens.ipynb", SETUP, SPOILED))
        found.page.wait_for_selector(READY, timeout=RUN)
        found.page.locator(".agi-squiggle").first.wait_for(timeout=RUN)
        expect(found.page.locator(".agi-lens")).to_have_count(0)
        assert found.complaints == []
    finally:
        context.close()
        shut_down(lab)
        change(lab, {})


def right(locator):
    box = locator.bounding_box()
    return box["x"] + box["width"]


def overflow(cell):
    """By how many pixels the text is wider than its editor."""
    return cell.locator(".cm-scroller").evaluate("one => one.scrollWidth - one.clientWidth")
