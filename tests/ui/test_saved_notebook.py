"""What a notebook kept of a capture: drawn without a kernel, trusted or not, live where the kernel has it."""

from __future__ import annotations

import contextlib

import nbformat
import pytest
import torch
from nbformat.v4 import new_code_cell, new_notebook, new_output
from playwright.sync_api import expect

import autograd_inspector
from autograd_inspector.kernel.widget import VIEW
from autograd_inspector.views.notebook.bundle import bundle_of
from autograd_inspector.views.notebook.saved import CAPTURE, opened

from .lab import RUN, command, in_dark, in_light
from .shared import SIZE, shown, shut_down, watched

pytestmark = pytest.mark.ui

SETUP = "import torch\n%load_ext autograd_inspector"
STEP = "%%autograd_inspect\nw = torch.ones(2, requires_grad=True)\nw.exp().sum().backward()"
HOSTILE = "<img src=x onerror='window.pwned = 1'><script>window.pwned = 1</script>"
GONE = {"version_major": 2, "version_minor": 0, "model_id": "0123456789abcdef0123456789abcdef"}
SAVED = ".agi-saved[data-shows='file'] .autograd-inspector[data-state='ready']"
LIVE = ".agi-saved[data-shows='widget'] .autograd-inspector[data-state='ready']"


@pytest.fixture(scope="module")
def kept():
    """The bundle of a capture with an error, and with a module of a hostile name."""
    model = torch.nn.Sequential()
    model.add_module(HOSTILE.replace(".", "·"), torch.nn.Linear(2, 2))
    with autograd_inspector.inspect() as inspection:
        hidden = model(torch.ones(1, 2)).exp()
        hidden.add_(1)
        with contextlib.suppress(RuntimeError):
            hidden.sum().backward()
    return bundle_of(inspection.report)


def written(lab, name, *bundles):
    """A notebook with such outputs, as it comes from elsewhere: nobody signed it."""
    cells = [new_code_cell("", outputs=[new_output("display_data", data=bundle)]) for bundle in bundles]
    nbformat.write(new_notebook(cells=cells), lab.folder / name)


@pytest.fixture
def page(browser, lab):
    """JupyterLab without a notebook."""
    context = browser.new_context(viewport=SIZE)
    found = watched(context.new_page())
    found.errors = []
    found.page.on("console", lambda said: found.errors.append(said.text) if said.type == "error" else None)
    found.page.goto(f"{lab.url}/lab?reset")
    found.page.wait_for_selector("#jp-main-dock-panel", timeout=RUN)
    yield found
    pwned = found.page.evaluate("() => window.pwned")
    context.close()
    shut_down(lab)
    assert pwned is None
    assert found.complaints == []


def read(page, name):
    """Open a notebook without a kernel."""
    command(page.page, "docmanager:open", {"path": name, "kernelPreference": {"shouldStart": False, "canStart": False}})
    page.page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=RUN)


def test_a_notebook_from_elsewhere_shows_its_capture_without_a_kernel(page, lab, kept, shots):
    """Graph, findings and placement, as the widget shows them; names are text, and nothing is an error."""
    written(lab, "kept.ipynb", kept | {VIEW: GONE})
    read(page, "kept.ipynb")
    root = page.page.locator(SAVED)
    expect(root).to_be_visible()
    page.page.screenshot(path=shots / "saved-light.png")
    expect(root.locator(".agi-graph-view")).to_be_visible()
    root.locator("[role=tab]", has_text="Findings").click()
    expect(root.locator(".agi-finding").first).to_contain_text("AG201")
    in_dark(page.page)
    page.page.screenshot(path=shots / "saved-dark.png")
    in_light(page.page)
    assert page.page.locator(".jp-OutputArea script, .jp-OutputArea img[onerror]").count() == 0
    assert page.errors == []


def test_what_an_earlier_release_saved_is_drawn(page, lab, kept):
    """There the document was the wire itself, not a string."""
    written(lab, "earlier.ipynb", {CAPTURE: opened(kept[CAPTURE])[0], "text/plain": "text"})
    read(page, "earlier.ipynb")
    expect(page.page.locator(f"{SAVED} .agi-graph-view")).to_be_visible()
    assert page.errors == []


@pytest.mark.parametrize(
    ("name", "wrong", "said"),
    [
        ("no-object", HOSTILE, "this is not an autograd_inspector capture"),
        ("version", {"wire": HOSTILE}, "this widget reads version"),
        ("text", {"text": HOSTILE}, "this capture is damaged"),
        ("damaged", {"nodes": {"kind": HOSTILE}}, "this capture is damaged"),
        ("edges", {"edges": None}, "this capture is damaged"),
    ],
)
def test_what_is_no_capture_is_refused_in_one_line(page, lab, kept, name, wrong, said):
    """Whatever stands in the file is data: nothing of it runs."""
    broken = opened(kept[CAPTURE])[0] | wrong if isinstance(wrong, dict) else wrong
    written(lab, f"{name}.ipynb", {CAPTURE: broken, "text/plain": "text", VIEW: {"model_id": HOSTILE}})
    read(page, f"{name}.ipynb")
    refusal = page.page.locator(".agi-saved [role=alert]")
    expect(refusal).to_contain_text(said)
    assert "\n" not in refusal.inner_text()
    assert page.errors == []


def test_a_capture_goes_live_with_its_kernel_and_falls_back_without(browser, lab):
    """The saved one stands there until the widget does, and again when the kernel forgets it."""
    with shown(browser, lab, "live", SETUP, STEP) as found:
        page = found.page
        expect(page.locator(LIVE)).to_be_visible(timeout=RUN)
        command(page, "docmanager:save")
        page.goto(page.url.partition("?")[0])
        expect(page.locator(LIVE)).to_be_visible(timeout=RUN)
        expect(page.locator(SAVED)).to_have_count(0, timeout=RUN)
        expect(page.locator(".agi-findings-count")).to_be_visible()  # The kernel's captures are known.
        page.evaluate("() => { window.jupyterapp.commands.execute('autograd-inspector:clear-captures'); }")
        page.locator(".jp-Dialog .jp-mod-accept").click()
        expect(page.locator(SAVED)).to_be_visible(timeout=RUN)
        expect(page.locator(LIVE)).to_have_count(0)
        command(page, "notebook:run-all-cells")
        expect(page.locator(LIVE)).to_be_visible(timeout=RUN)
        assert found.complaints == []
