"""A server without our extension, as where kernels have environments of their own: the answer is there all the same."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from .lab import RUN, command, running_lab
from .shared import SIZE, shown, shut_down

pytestmark = pytest.mark.ui

SETUP = "import torch\n%load_ext autograd_inspector"
STEP = (
    "%%autograd_inspect\nw = torch.ones(2, requires_grad=True)\nh = w.exp()\nout = h * h\nh += 1\nout.sum().backward()"
)
NO_KERNEL = {"shouldStart": False, "canStart": False}
STATIC = ".jp-OutputArea-child .agi-static"
WIDGET = ".autograd-inspector[data-state='ready']"


@pytest.fixture(scope="module")
def bare_lab(tmp_path_factory):
    """JupyterLab that knows widgets, and not our extension."""
    with running_lab(tmp_path_factory.mktemp("bare"), without=("autograd-inspector",)) as server:
        yield server


@pytest.fixture(scope="module")
def saved(browser, bare_lab):
    """The name of a notebook that was run there and saved; while the widget lived, it stood there alone."""
    with shown(browser, bare_lab, "bare", SETUP, STEP) as found:
        expect(found.page.locator(WIDGET)).to_be_visible(timeout=RUN)
        expect(found.page.locator(STATIC)).to_be_hidden()
        command(found.page, "docmanager:save")
    return "bare.ipynb"


@pytest.fixture
def opened(browser, bare_lab):
    """Opens a notebook again, when its kernel is gone."""
    context = browser.new_context(viewport=SIZE)
    page = context.new_page()

    def reopened(name, **arguments):
        page.goto(f"{bare_lab.url}/lab?reset")
        page.wait_for_selector("#jp-main-dock-panel", timeout=RUN)
        command(page, "docmanager:open", {"path": name, **arguments})
        page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=RUN)
        return page

    yield reopened
    context.close()
    shut_down(bare_lab)


def assert_answers(page):
    static = page.locator(STATIC)
    expect(static).to_be_visible()
    expect(static.locator("pre").first).to_have_text("h += 1")
    expect(static).to_contain_text("was saved for backward by")
    expect(static).to_contain_text("Fix:")


def test_without_a_kernel_the_answer_is_there(opened, saved):
    """JupyterLab waits for the widget for ever; above it stands what was found."""
    assert_answers(opened(saved, kernelPreference=NO_KERNEL))


def test_with_another_kernel_no_error_stands_in_its_place(opened, saved):
    """Not "Error displaying widget: model not found"."""
    page = opened(saved)
    failed = page.get_by_text("Error displaying widget: model not found")
    expect(failed).to_have_count(1, timeout=RUN)
    expect(failed).to_be_hidden()
    assert_answers(page)


def test_an_untrusted_copy_tells_it_in_the_same_order(opened, saved, bare_lab):
    """Without style and picture, and without words of either."""
    notebook = json.loads((bare_lab.folder / saved).read_text())
    notebook["cells"][1]["source"] = [*notebook["cells"][1]["source"], "\n# a change that nobody signed"]
    (bare_lab.folder / "untrusted.ipynb").write_text(json.dumps(notebook))
    page = opened("untrusted.ipynb", kernelPreference=NO_KERNEL)
    assert_answers(page)
    expect(page.locator(f"{STATIC} style")).to_have_count(0)
    expect(page.locator(STATIC)).not_to_contain_text("color-scheme")
