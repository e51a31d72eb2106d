"""A notebook in a real JupyterLab, in a real browser."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from tests.ui.browser import QUIET
from tests.ui.lab import RUN, Lab, idle, running_lab

SCRIPT = Path(__file__).with_name("page.js")
SIZE = {"width": 1280, "height": 1000}


class Notebook:
    """An open notebook whose cells run one by one."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def run(self, first: int, last: int | None = None, *, widgets: int = 0) -> tuple[float, float]:
        """Run cells; the times (ms) at which that was asked for, and at which that many widgets were painted."""
        end = first if last is None else last
        self.page.evaluate("bench.forget()")
        started: float = self.page.evaluate("([first, last]) => bench.run(first, last)", [first, end])
        self.page.wait_for_function("wanted => bench.count() >= wanted && bench.idle", arg=widgets, timeout=4 * RUN)
        return started, self.page.evaluate("bench.last()") if widgets else started

    def printed(self, cell: int) -> dict[str, float]:
        """The JSON that a cell printed."""
        figures: dict[str, float] = json.loads(self.page.evaluate("cell => bench.printed(cell)", cell))
        return figures

    def frames(self, act: Callable[[], None]) -> list[float]:
        """Milliseconds between the frames while something goes on."""
        self.page.evaluate("bench.record()")
        act()
        intervals: list[float] = self.page.evaluate("bench.recorded()")
        return intervals


@contextmanager
def browsing(executable: str) -> Iterator[tuple[Lab, Browser]]:
    """A JupyterLab of its own and a browser."""
    with TemporaryDirectory() as folder, running_lab(Path(folder)) as lab, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=QUIET)
        yield lab, browser
        browser.close()


@contextmanager
def notebook(lab: Lab, browser: Browser, name: str, *cells: str) -> Iterator[Notebook]:
    """A notebook of these cells, none of which ran."""
    context: Any = browser.new_context(viewport=SIZE)
    page = context.new_page()
    page.add_init_script(path=SCRIPT)
    idle(page, lab.notebook(f"{name}.ipynb", *cells))
    yield Notebook(page)
    context.close()
