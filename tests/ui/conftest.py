"""One server and one browser for all tests; a page of its own for each."""

from __future__ import annotations

import shutil

import pytest
from playwright.sync_api import expect

from .lab import ROOT, running_lab

expect.set_options(timeout=20_000)  # A busy machine is no fault of the widget.

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)


@pytest.fixture(scope="session")
def browser_type_launch_args():
    """The browser that the system has: none is downloaded."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.fail("no browser: install Chromium (Debian: apt-get install chromium)")
    return {"executable_path": found, "args": QUIET.split()}


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    """A running JupyterLab."""
    with running_lab(tmp_path_factory.mktemp("lab")) as server:
        yield server


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
