"""Pages of JupyterLab: a test opens its notebook in one, and what it opened is closed behind it.

Each page is loaded anew: what an earlier test left in one, an answer of its kernel that came late, was met by others.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from playwright.sync_api import Browser, Page, expect

from .lab import RUN, Lab, command, in_light, kernel_is_ready
from .panel import Panel
from .settings import change
from .shared import READY, SIZE, Shown, end_sessions, watched

CLIPBOARD = ["clipboard-read", "clipboard-write"]
_OPEN = """async (path) => {
    const { commands, shell } = window.jupyterapp;
    const opened = await commands.execute('docmanager:open', { path });
    // The launcher stands where nothing else is open.
    for (const other of [...shell.widgets('main')]) if (other !== opened) other.dispose();
    await opened.context.ready;
}"""
_CLOSE = """() => {
    const { shell } = window.jupyterapp;
    const open = [...shell.widgets('main'), ...shell.widgets('down')];
    const sessions = open.map((one) => one.sessionContext?.session?.id).filter(Boolean);
    for (const one of open) one.dispose();
    return sessions;
}"""
_TIDY = """() => {
    for (const button of document.querySelectorAll('.agi-notice button, .jp-Notification-Toast-Close')) button.click();
    window.jupyterapp.shell.collapseRight();
}"""
_OVER = ".jp-Dialog, .lm-Menu"
"""What lies over the page until Escape is pressed."""


class Pages:
    """Pages of one server, in one profile of the browser."""

    def __init__(self, browser: Browser, lab: Lab) -> None:
        self.lab = lab
        self._context = browser.new_context(viewport=SIZE, permissions=CLIPBOARD)
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._context.close()

    @contextmanager
    def empty(self) -> Iterator[Shown]:
        """JupyterLab with no notebook open."""
        page = self._loaded()
        yield page
        self._close(page)

    @contextmanager
    def own(self, settings: dict[str, object]) -> Iterator[Shown]:
        """A page that is loaded for one test, under settings of the user's own."""
        change(self.lab, settings)
        try:
            with self.empty() as page:
                yield page
        finally:
            change(self.lab, {})

    @contextmanager
    def idle(self, name: str, *cells: str, settings: dict[str, object] | None = None) -> Iterator[Shown]:
        """A notebook whose cells have not run; with settings, in a page that is loaded for it."""
        with self.empty() if settings is None else self.own(settings) as page:
            self.lab.notebook(f"{name}.ipynb", *cells)
            self.open(page.page, f"{name}.ipynb")
            yield page

    @contextmanager
    def shown(self, name: str, *cells: str, settings: dict[str, object] | None = None) -> Iterator[Shown]:
        """A notebook that has run, and the first widget that is shown in it."""
        with self.idle(name, *cells, settings=settings) as page:
            command(page.page, "notebook:run-all-cells")
            page.page.wait_for_selector(READY, timeout=RUN)
            yield page

    @contextmanager
    def panel(
        self, name: str, *cells: str, run: bool = True, settings: dict[str, object] | None = None
    ) -> Iterator[Panel]:
        """A notebook and, beside it, the panel."""
        with self.idle(name, *cells, settings=settings) as page:
            panel = Panel(page.page)
            if run:
                command(page.page, "notebook:run-all-cells")
            panel.show()
            yield panel
            panel.forget()

    def open(self, page: Page, path: str) -> None:
        """Open a notebook in a page and wait for its kernel."""
        page.evaluate(_OPEN, path)
        kernel_is_ready(page)

    def _loaded(self) -> Shown:
        self._count += 1
        page = watched(self._context.new_page())
        page.page.goto(f"{self.lab.url}/lab/workspaces/page-{self._count}?reset")
        page.page.wait_for_selector("#jp-main-dock-panel", timeout=RUN)
        page.page.wait_for_selector("#jupyterlab-splash", state="detached", timeout=RUN)
        return page

    def _close(self, shown: Shown) -> None:
        """Close what a test opened, and end the kernels that it started."""
        end_sessions(self.lab, shown.page.evaluate(_CLOSE))
        shown.page.close()


def tidy(page: Page) -> None:
    """Close what lies over the notebook and beside it, in the light theme."""
    for _ in range(page.locator(_OVER).count()):
        page.keyboard.press("Escape")
    page.evaluate(_TIDY)
    page.mouse.move(1, 1)
    expect(page.locator(".Toastify__toast")).to_have_count(0)
    if page.locator("body[data-jp-theme-light='false']").count():
        in_light(page)
