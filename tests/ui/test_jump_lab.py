"""A click on a location goes there: to a cell far away, to a file, or to its text where only the kernel reads it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from .lab import RUN
from .shared import shown

pytestmark = pytest.mark.ui

MODEL = """import sys
sys.path[:0] = ["{elsewhere}", "{here}"]
%load_ext autograd_inspector
import torch, near_steps, far_steps
from torch import nn
encoder, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
def hidden(x):
    return encoder(x).detach()
"""
STEP = """%%autograd_inspect
loss = head({call}(torch.ones(2, 4))).sum()
loss.backward()
optimizer.step()
"""
FILE = "\n" * 30 + "def {name}(encoder):\n    def hidden(x):\n        return encoder(x).detach()\n    return hidden\n"
FILLER = ["\n".join(f"unrelated_{cell}_{n} = {n}" for n in range(25)) for cell in range(30)]
CALLS = ["hidden", "near_steps.near(encoder)", "far_steps.far(encoder)"]


@pytest.fixture(scope="module")
def page(browser, lab):
    """A detach in the first cell, in a file that the server reaches, and in one that only the kernel does."""
    elsewhere = lab.folder.parent / "elsewhere"
    elsewhere.mkdir()
    (lab.folder / "near_steps.py").write_text(FILE.format(name="near"))
    (elsewhere / "far_steps.py").write_text(FILE.format(name="far"))
    model = MODEL.format(elsewhere=elsewhere, here=lab.folder)
    with shown(browser, lab, "jump-lab", model, *FILLER, *(STEP.format(call=call) for call in CALLS)) as found:
        yield found
        assert found.complaints == []


def test_the_status_bar_names_the_line_of_a_file(browser, lab):
    """File and line, with the code; a click opens the file there."""
    (lab.folder / "status_steps.py").write_text(FILE.format(name="near"))
    model = MODEL.format(elsewhere=lab.folder, here=lab.folder).replace("near_steps, far_steps", "status_steps")
    with shown(browser, lab, "status-file", model, STEP.format(call="status_steps.near(encoder)")) as page:
        answer = page.page.locator(".agi-status-answer")
        expect(answer).to_have_text("AG101 detached · status_steps.py:33: return encoder(x).detach()")
        answer.click()
        expect(page.page.locator(".cm-line.agi-flash")).to_have_text(re.compile("return encoder"))
        assert page.complaints == []


def go(page, nth, place):
    """Click that place among the findings of the nth step's widget."""
    page.page.locator("#jp-main-dock-panel .lm-TabBar-tab", has_text="jump-lab.ipynb").click()
    number = 1 + len(FILLER) + nth
    page.page.evaluate(
        "(n) => { const nb = window.jupyterapp.shell.currentWidget.content; nb.activeCellIndex = n;"
        " return nb.scrollToItem(n); }",
        number,
    )
    shown_here = page.of(number)
    shown_here.widget.wait_for(timeout=RUN)
    told = shown_here.tab("Findings").locator(":is(.agi-culprit, .agi-said)")
    told.get_by_role("button", name=f"Go to {place}").first.click()


def selected(page, editor):
    """The text that is selected in an editor."""
    return page.page.evaluate(
        "(name) => { const found = window.jupyterapp.shell.currentWidget.content;"
        " const view = name === 'cell' ? found.activeCell.editor.editor : found.editor.editor ?? found.editor;"
        " const { from, to } = view.state.selection.main; return view.state.sliceDoc(from, to); }",
        editor,
    )


def test_a_cell_far_away_scrolls_into_view_and_its_line_is_selected_and_flashes(page):
    """Its cell was out of the page: only what is near is drawn."""
    go(page, 0, "In [1]")
    lit = page.page.locator(".jp-Notebook .cm-line.agi-flash")
    expect(lit).to_have_text(re.compile(r"^    return encoder\(x\)\.detach\(\)"), use_inner_text=False)
    expect(lit).to_be_in_viewport()
    assert selected(page, "cell") == "    return encoder(x).detach()"
    expect(lit).to_have_count(0)
    expect(page.page.locator(".jp-Notebook .jp-Cell.jp-mod-active")).to_contain_text("near_steps")


def test_a_file_that_the_server_reaches_opens_in_an_editor_at_the_line(page):
    """It is the user's own, so it can be edited."""
    go(page, 1, "near_steps.py:33")
    editor = page.page.locator(".jp-FileEditor:visible")
    expect(editor.locator(".cm-line.agi-flash")).to_be_in_viewport()
    assert selected(page, "file").strip() == "return encoder(x).detach()"
    assert page.page.evaluate("() => !window.jupyterapp.shell.currentWidget.content.editor.editor.state.readOnly")


def test_a_file_of_a_library_opens_read_only(page, lab):
    """Nobody means to edit what is installed."""
    folder = lab.folder / "site-packages"
    folder.mkdir()
    (folder / "library.py").write_text("a = 1\nb = 2\n")
    detail = {"cell": "", "cellId": "", "filename": str(folder / "library.py"), "line": 2, "source": "b = 2"}
    page.page.evaluate(
        "(detail) => document.body.dispatchEvent("
        "new CustomEvent('autograd-inspector:reveal', { bubbles: true, cancelable: true, detail }))",
        detail,
    )
    expect(page.page.locator(".jp-FileEditor:visible .cm-line.agi-flash")).to_have_text("b = 2")
    assert page.page.evaluate("() => window.jupyterapp.shell.currentWidget.content.editor.editor.state.readOnly")


def test_a_file_out_of_the_servers_reach_is_shown_as_the_kernel_reads_it(page, shots):
    """Numbered, with the line marked, and read-only."""
    go(page, 2, "far_steps.py:33")
    view = page.page.locator(".agi-source-view:visible")
    expect(view.locator(".cm-line.agi-flash")).to_be_in_viewport()
    page.page.screenshot(path=shots / "source-light.png")
    assert selected(page, "source").strip() == "return encoder(x).detach()"
    expect(view.locator(".cm-lineNumbers")).to_contain_text("33")
    view.locator(".cm-content").press("x")
    expect(view.locator(".cm-content")).not_to_contain_text("x.detach")
    assert selected(page, "source").strip() == "return encoder(x).detach()"
    again = page.page.locator("#jp-main-dock-panel .lm-TabBar-tab", has_text="far_steps.py")
    go(page, 2, "far_steps.py:33")
    expect(again).to_have_count(1)


def test_a_cell_that_no_notebook_has_is_said(page):
    """The widget says so to a screen reader; nothing moves."""
    detail = {"cell": "In [999]", "cellId": "", "filename": "", "line": 1, "source": ""}
    unheard = page.page.evaluate(
        "(detail) => document.body.dispatchEvent("
        "new CustomEvent('autograd-inspector:reveal', { bubbles: true, cancelable: true, detail }))",
        detail,
    )
    assert unheard
