"""One notebook, opened and run once for the tests of a module."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from playwright.sync_api import Browser, ConsoleMessage, Error, Locator, Page

from .lab import RUN, Lab, opened

READY = ".autograd-inspector[data-state='ready']"
MATCHES = 12
"""How many matches of a search are tried."""
SIZE = {"width": 1400, "height": 1000}


@dataclass
class Shown:
    """A widget in a page, and what went wrong on that page; ``cell`` is the number of its cell."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    cell: int | None = None

    @property
    def widget(self) -> Locator:
        scope = (
            self.page if self.cell is None else self.page.locator(f".jp-Cell[data-windowed-list-index='{self.cell}']")
        )
        return scope.locator(READY).first

    def of(self, cell: int) -> Shown:
        """The widget of another cell of the same page."""
        return replace(self, cell=cell)

    @property
    def details(self) -> Locator:
        return self.widget.get_by_role("region", name="Details")

    def tab(self, name: str) -> Locator:
        """Bring a tab to the front; returns its panel."""
        self.widget.locator("[role=tab]").filter(has_text=name).click()
        panel = self.widget.locator("[role=tabpanel]:not([hidden])")
        panel.wait_for()
        return panel

    def select(self, name: str) -> None:
        """Search the graph for the node of that name and select it."""
        self.tab("Graph")
        search = self.widget.get_by_role("searchbox", name="Search the graph")
        search.fill(name)
        for _ in range(MATCHES):
            search.press("Enter")
            if self.title == name:
                break
        search.fill("")
        assert self.title == name

    @property
    def title(self) -> str:
        """What the details are about."""
        return self.details.get_by_role("heading", level=3).inner_text()


@contextmanager
def shown(browser: Browser, lab: Lab, name: str, *cells: str, **options: object) -> Iterator[Shown]:
    """A page in which a notebook has run; its kernel is shut down at the end."""
    context = browser.new_context(viewport=SIZE, **options)
    page = context.new_page()
    watched_page = watched(page)
    try:
        opened(page, lab.notebook(f"{name}.ipynb", *cells))
        page.wait_for_selector(READY, timeout=RUN)
        yield watched_page
    finally:
        context.close()
        shut_down(lab)


def watched(page: Page) -> Shown:
    """Exceptions in the page, and errors in its console that speak of the widget, are kept; so are all requests."""
    watched_page = Shown(page)

    def on_console(message: ConsoleMessage) -> None:
        if message.type == "error" and ("autograd" in message.text or "anywidget" in message.text):
            watched_page.complaints.append(message.text)

    page.on("console", on_console)

    def raised(error: Error) -> None:
        stack = error.stack or ""
        # Else it is the host's own.
        if "blob:" in stack or "/autograd-inspector/" in stack or "/static/" not in stack:
            watched_page.complaints.append(f"{error.name}: {error.message}")

    page.on("pageerror", raised)
    page.on("request", lambda request: watched_page.requests.append(request.url))
    return watched_page


def shut_down(lab: Lab) -> None:
    """End every kernel: each holds a torch of its own."""
    with urllib.request.urlopen(f"{lab.url}/api/sessions", timeout=20) as answer:
        sessions = json.load(answer)
    for session in sessions:
        address = f"{lab.url}/api/sessions/{session['id']}"
        urllib.request.urlopen(urllib.request.Request(address, method="DELETE"), timeout=20).close()
