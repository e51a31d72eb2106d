"""The tutorials of the five stories in a real JupyterLab, run from the top: what they tell is what a reader sees."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import expect

from .lab import KERNEL, RUN, in_light, opened
from .shared import READY, SIZE, Shown, shut_down, watched

pytestmark = pytest.mark.ui

FOLDER = Path(__file__).parents[2] / "notebooks"
FINDS = {
    "01_gpt_loop": "AG302 nonleaf-grad",
    "02_lightning_t5": "AG101 detached",
    "03_mistral_lora_checkpointing": "AG201 saved-tensor-modified",
    "04_resume_optimizer_state": "AG402 state-dtype",
    "05_schedule_free_norms": "AG408 step-mutates-grad",
}
"""What the first inspected cell of each finds."""
PICTURED = {
    "03_mistral_lora_checkpointing": "Findings",
    "04_resume_optimizer_state": "Optimizer",
    "05_schedule_free_norms": "Findings",
}
"""The tab that says most of it, where that is not the graph: the gallery shows these pictures."""
SHOWS = re.compile(r"%%autograd_inspect\b(?!.*--quiet)")
COUNTED = "([n, count]) => window.jupyterapp.shell.currentWidget.content.model.cells.get(n).executionCount === count"
"""Cell n is the count-th that ran: no cell before it stopped the run."""
IN_SIGHT = """([cell, kind]) => {
    const stage = document.querySelector(`.jp-Cell[data-windowed-list-index='${cell}'] .agi-stage`);
    const shown = stage.getBoundingClientRect();
    return [...stage.querySelectorAll(`[data-node]${kind}`)].some((box) => {
        const { top, bottom, left, right } = box.getBoundingClientRect();
        return top >= shown.top && bottom <= shown.bottom && left >= shown.left && right <= shown.right;
    });
}"""
"""Whether a whole box of that kind is within the picture as it stands."""


@pytest.fixture
def page(browser):
    context = browser.new_context(viewport=SIZE)
    found = watched(context.new_page())
    yield found
    context.close()
    assert found.complaints == []


@pytest.fixture(params=FINDS)
def tutorial(request, page, lab):
    """A tutorial that has run, without its committed outputs: its name, and the cells that show a report."""
    notebook = nbformat.read(FOLDER / f"{request.param}.ipynb", as_version=4)
    notebook.metadata.kernelspec.name = KERNEL
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    nbformat.write(notebook, lab.folder / f"{request.param}.ipynb")
    opened(page.page, lab.address(f"{request.param}.ipynb"))
    code = [number for number, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    page.page.wait_for_function(COUNTED, arg=[code[-1], len(code)], timeout=2 * RUN)
    yield request.param, [number for number in code if SHOWS.match(notebook.cells[number].source)]
    shut_down(lab)


def into_view(page: Shown, cell: int) -> None:
    """JupyterLab draws only the cells near those in view."""
    page.page.evaluate(
        "(n) => { const { content } = window.jupyterapp.shell.currentWidget; content.activeCellIndex = n; "
        "content.scrollToItem(n, 'start'); }",
        cell,
    )


def test_a_tutorial_shows_its_finding(tutorial, page, shots):
    """Every report is a widget; the first leads with the story's finding, in sight in the graph as it opens."""
    name, cells = tutorial
    in_light(page.page)
    for cell in cells:
        into_view(page, cell)
        page.page.locator(f".jp-Cell[data-windowed-list-index='{cell}'] {READY}").wait_for(timeout=RUN)
    into_view(page, cells[0])
    story = page.of(cells[0])
    story.widget.scroll_into_view_if_needed()
    card = story.tab("Findings").locator(".agi-finding").first
    expect(card).to_have_accessible_name(FINDS[name])
    story.tab("Graph")
    page.page.wait_for_function(IN_SIGHT, arg=[cells[0], ":is(.agi-has-error, .agi-has-warning)"])
    story.tab("Findings")
    card.get_by_role("button", name="Show in graph").click()
    page.page.wait_for_function(IN_SIGHT, arg=[cells[0], "[aria-pressed='true']"])
    page.page.evaluate("() => window.jupyterapp.shell.collapseRight()")
    into_view(page, cells[0])
    story.tab(PICTURED.get(name, "Graph"))
    story.widget.scroll_into_view_if_needed()
    story.widget.screenshot(path=shots / f"tutorial-{name}-light.png")
