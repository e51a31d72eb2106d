"""The panel in the right sidebar, as a user meets it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from .lab import RUN, Lab, command, idle, opened
from .shared import READY, SIZE, shut_down

PANEL = "#autograd-inspector-panel"
KERNEL = "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel"
NOISE = ("favicon", "Connection lost", "ERR_CONNECTION", "WebSocket", "widget model not found")
"""What JupyterLab itself says of a kernel that goes, and ipywidgets of a model that comes late: it is drawn then."""


@dataclass
class Panel:
    """A page and its panel; everything that the page complained of is kept."""

    page: Page
    complaints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        def on_console(message) -> None:
            if message.type == "error" and not any(noise in message.text for noise in NOISE):
                self.complaints.append(message.text)

        self.page.on("console", on_console)
        self.page.on("pageerror", lambda error: self.complaints.append(f"{error.name}: {error.message}"))

    @property
    def root(self) -> Locator:
        return self.page.locator(PANEL)

    @property
    def entries(self) -> Locator:
        return self.root.locator("[data-capture]")

    @property
    def widget(self) -> Locator:
        """The capture that the panel shows."""
        return self.root.locator(READY)

    @property
    def notice(self) -> Locator:
        return self.root.locator(".agi-notice")

    def show(self) -> None:
        """Bring the panel to the front."""
        command(self.page, "autograd-inspector:show-panel")
        self.root.wait_for()

    def open(self, path: str) -> None:
        """Open another notebook in the same page."""
        self.page.evaluate("path => { void window.jupyterapp.commands.execute('docmanager:open', {path}) }", path)

    def entry(self, text: str) -> Locator:
        """The newest that says so."""
        return self.entries.filter(has_text=text).first

    def choose(self, entry: Locator, *items: str) -> None:
        """Walk through an entry's menu."""
        entry.get_by_role("button", name="Actions for").click()
        for item in items:
            self.page.locator(".lm-Menu-item").filter(has_text=item).click()

    def pick(self, entry: Locator) -> None:
        """Click an entry and wait until the panel shows that capture, in place of the one before."""
        entry.click()
        self.expect_shown(entry.locator("strong").inner_text())

    def expect_shown(self, name: str) -> None:
        """The panel shows what is called so."""
        expect(self.root.get_by_role("heading", level=2)).to_have_text(name)
        self.widget.wait_for()

    def cell(self, number: int) -> Locator:
        """A cell of the notebook that is looked at, by its number: those far from view are not in the page."""
        return self.page.locator(f".jp-Notebook:visible .jp-Cell[data-windowed-list-index='{number}']")

    def run(self, cell: int) -> None:
        """Run one cell again, without waiting for its end; bring it into view first."""
        self.page.evaluate(
            "async (n) => { const { content } = window.jupyterapp.shell.currentWidget; content.activeCellIndex = n;"
            " await content.scrollToItem(n); void window.jupyterapp.commands.execute('notebook:run-cell') }",
            cell,
        )

    def capture(self, cell: int) -> Locator:
        """Run a cell that is inspected; returns its new entry."""
        before = set(self.ids)
        self.run(cell)
        self.page.wait_for_function(
            "([panel, known]) => [...document.querySelectorAll(`${panel} [data-capture]`)]"
            ".some(one => !known.includes(one.dataset.capture))",
            arg=[PANEL, list(before)],
            timeout=RUN,
        )
        [new] = set(self.ids) - before
        return self.root.locator(f"[data-capture='{new}']")

    @property
    def ids(self) -> list[str]:
        return self.entries.evaluate_all("all => all.map(one => one.dataset.capture)")

    def expect_entries(self, count: int) -> None:
        expect(self.entries).to_have_count(count, timeout=RUN)


@contextmanager
def panel_in(context: BrowserContext, address: str, *, run: bool = True) -> Iterator[Panel]:
    """A page of a context with the panel open; the notebook's cells are run."""
    panel = Panel(context.new_page())
    (opened if run else idle)(panel.page, address)
    panel.show()
    yield panel


@contextmanager
def panel_of(browser: Browser, lab: Lab, name: str, *cells: str, run: bool = True) -> Iterator[Panel]:
    """A notebook of its own; its kernel is shut down at the end."""
    context = browser.new_context(viewport=SIZE)
    try:
        with panel_in(context, lab.notebook(f"{name}.ipynb", *cells), run=run) as panel:
            yield panel
    finally:
        context.close()
        shut_down(lab)
