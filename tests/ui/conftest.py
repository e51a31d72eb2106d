"""One server and one browser for all tests; a page of its own for each."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .browser import QUIET, browser
from .lab import ROOT, RUN, running_lab
from .programs import CELLS, SETUP
from .shared import shown

expect.set_options(timeout=20_000)  # A busy machine is no fault of the widget.

CLIPBOARD = ["clipboard-read", "clipboard-write"]


@pytest.fixture(scope="session")
def browser_type_launch_args():
    """The browser that the system has: none is downloaded."""
    executable = browser()
    if executable is None:
        pytest.fail("no browser: install Chromium (Debian: apt-get install chromium)")
    return {"executable_path": executable, "args": QUIET}


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    """A running JupyterLab."""
    with running_lab(tmp_path_factory.mktemp("lab")) as server:
        yield server


@pytest.fixture(scope="session")
def notebook(browser, lab):
    """One notebook with the widgets of ``programs.CELLS``, run once for all tests that only look at them."""
    with shown(browser, lab, "programs", SETUP, *CELLS.values(), permissions=CLIPBOARD) as page:
        for number in range(1, len(CELLS) + 1):
            page.of(number).widget.wait_for(timeout=RUN)
        yield page


@pytest.fixture
def program(notebook):
    """``program("trained")`` is that program's widget; the page must not complain."""
    notebook.complaints.clear()
    yield lambda name: notebook.of(1 + list(CELLS).index(name))
    assert notebook.complaints == []


@pytest.fixture(scope="session")
def axe():
    """The accessibility checker's script."""
    return ROOT / "labextension" / "node_modules" / "axe-core" / "axe.min.js"


@pytest.fixture
def shots():
    """Where screenshots go."""
    folder = ROOT / "reports" / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
