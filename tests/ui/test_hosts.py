"""The widget in other hosts than the JupyterLab of the `lab` extra.

Notebook 7 comes with that extra. The others are tried where an environment variable names a Python that has them::

    python -m venv lab42 && lab42/bin/pip install "jupyterlab==4.2.*" ipywidgets anywidget
    python -m venv marimo && marimo/bin/pip install marimo anywidget
    python -m venv voila && voila/bin/pip install voila ipywidgets anywidget
    export AUTOGRAD_INSPECTOR_LAB42=$PWD/lab42/bin/python AUTOGRAD_INSPECTOR_MARIMO=$PWD/marimo/bin/python
    export AUTOGRAD_INSPECTOR_VOILA=$PWD/voila/bin/python

Torch is not needed in them: kernels run in the Python of the tests, and marimo finds that Python's packages.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from .lab import RUN, idle, in_dark, running_lab
from .marimo import running_marimo
from .panel import Panel
from .programs import SETUP, TRAINED
from .shared import READY, SIZE, Shown, shown, watched
from .test_answer import CAUGHT
from .test_answer import SETUP as SETUP_ALONE
from .voila import running_voila, without_network

pytestmark = pytest.mark.ui
DARK = re.compile(r"^rgb\(([0-6]?\d), ([0-6]?\d), ([0-6]?\d)\)$")


def python_of(variable: str) -> str:
    found = os.environ.get(variable)
    if not found:
        pytest.skip(f"{variable} names no Python that has this host")
    return found


@contextmanager
def jupyter(browser, folder, module, **options) -> Iterator[Shown]:
    with (
        running_lab(folder, module, **options) as server,
        shown(browser, server, "hosts", SETUP, TRAINED) as page,
    ):
        yield page


def works(page: Shown, shots, name: str) -> None:
    """The graph, a node's details, every tab; nothing complains."""
    expect(page.widget.locator("[data-node]").first).to_be_visible()
    page.select("linear")
    expect(page.details).to_contain_text("float32 · cpu · ")
    for tab, said in (("Findings", "finding|AG101"), ("Timeline", "backward"), ("Optimizer", "weight")):
        expect(page.tab(tab)).to_contain_text(re.compile(said, re.IGNORECASE))
        page.widget.screenshot(path=str(shots / f"{name}-{tab.lower()}.png"))
    slider = page.tab("Timeline").get_by_role("slider")
    slider.press("Home")
    slider.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("^2 of"))
    page.tab("Graph")
    page.widget.screenshot(path=str(shots / f"{name}-graph.png"))
    assert page.complaints == []


def background(page: Shown) -> str:
    return page.widget.evaluate("e => getComputedStyle(e).backgroundColor")


def is_dark(page: Shown, shots, name: str) -> None:
    """The widget says so, and looks so."""
    expect(page.widget).to_have_attribute("data-theme", "dark")
    assert DARK.match(background(page)), background(page)
    page.widget.screenshot(path=str(shots / f"{name}-graph-dark.png"))
    page.tab("Optimizer")
    page.widget.screenshot(path=str(shots / f"{name}-optimizer-dark.png"))


def test_notebook_7(browser, tmp_path, shots):
    """Works, and follows the theme."""
    with jupyter(browser, tmp_path, "notebook") as page:
        works(page, shots, "notebook7")
        assert not DARK.match(background(page))
        in_dark(page.page)
        is_dark(page, shots, "notebook7")


def test_notebook_7_names_the_line_above_the_notebook(browser, tmp_path, shots):
    """It has no status bar: a strip says the culprit's line, while the cell runs already; a click goes there."""
    with running_lab(tmp_path, "notebook") as server:
        page = browser.new_context(viewport=SIZE).new_page()
        idle(page, server.notebook("above.ipynb", SETUP_ALONE, CAUGHT))
        strip = page.locator(".agi-above-notebook")
        expect(strip).to_be_hidden()
        page.evaluate("() => { void window.jupyterapp.commands.execute('notebook:run-all-cells') }")
        expect(strip).to_contain_text("In [2] runs:", timeout=RUN)
        expect(strip).to_contain_text("AG201 line 7")
        answer = strip.locator(".agi-status-answer")
        expect(answer).to_have_text("AG201 saved-tensor-modified · line 7: hidden += 1.0", timeout=RUN)
        page.screenshot(path=shots / "notebook7-above.png")
        answer.click()
        expect(page.locator(".jp-Cell .cm-line", has_text="hidden += 1.0").first).to_be_in_viewport()
        page.context.close()


def test_jupyterlab_4_2(browser, tmp_path, shots):
    """The oldest JupyterLab that is supported: the widget, and the panel."""
    with jupyter(browser, tmp_path, "jupyterlab", python=python_of("AUTOGRAD_INSPECTOR_LAB42")) as page:
        assert page.page.evaluate("() => window.jupyterapp.version").startswith("4.2.")
        works(page, shots, "lab42")
        panel = Panel(page.page)
        panel.show()
        panel.expect_entries(1)
        panel.entries.first.click()
        panel.widget.wait_for(timeout=RUN)
        panel.root.screenshot(path=shots / "lab42-panel.png")
        assert panel.complaints == []
        in_dark(page.page)
        is_dark(page, shots, "lab42")


def test_marimo(browser, tmp_path, shots):
    """A report as the last expression of a cell is the widget; it follows the system's theme as marimo does."""
    with running_marimo(tmp_path, python_of("AUTOGRAD_INSPECTOR_MARIMO")) as url:
        context = browser.new_context(viewport=SIZE, color_scheme="light")
        page = watched(context.new_page())
        page.page.goto(url)
        page.page.wait_for_selector(READY, timeout=RUN)
        works(page, shots, "marimo")
        assert not DARK.match(background(page))
        page.page.emulate_media(color_scheme="dark")
        is_dark(page, shots, "marimo")
        context.close()


def test_voila(browser, tmp_path, shots):
    """A notebook as an application, without its code: the widget is there, and follows Voila's theme."""
    python = python_of("AUTOGRAD_INSPECTOR_VOILA")
    with running_voila(tmp_path, python, SETUP, TRAINED) as url:
        page = watched(browser.new_page(viewport=SIZE))
        without_network(page.page, python)
        page.page.goto(f"{url}/?theme=light", wait_until="commit")
        page.page.wait_for_selector(READY, timeout=RUN)
        works(page, shots, "voila")
        assert not DARK.match(background(page))
        page.page.goto(f"{url}/?theme=dark", wait_until="commit")
        page.page.wait_for_selector(READY, timeout=RUN)
        is_dark(page, shots, "voila")
        page.page.close()
