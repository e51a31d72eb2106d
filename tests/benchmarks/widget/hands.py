"""What a user does with the widget: real mouse, real wheel, frames as the browser makes them."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Locator

from .notebook import Notebook
from .spread import Spread

STEPS = 60
READY = ".autograd-inspector[data-state='ready']"
CLOSED = "[data-item][aria-expanded=false] .agi-toggle"
BLOCKS = 5
_CLICK = "toggle => bench.timed(() => toggle.dispatchEvent(new MouseEvent('click', { bubbles: true })))"


class Hands:
    """On the first widget of a notebook: pan, zoom, open blocks; in a notebook of ``several``, scroll as well."""

    def __init__(self, page: Notebook, *, several: bool = False) -> None:
        self.page = page
        self.mouse = page.page.mouse
        self.widget = page.page.locator(READY).first
        self.stage.scroll_into_view_if_needed()
        self.frames: dict[str, Spread] = {}
        self.idle = Spread(tuple(page.frames(self._wander)))
        if several:
            self._watch("pan one of them", self._pan)
            self._watch("scroll the notebook", self._scroll)
            return
        self._watch("pan", self._pan)
        self._watch("zoom", self._zoom)
        self.widget.get_by_role("button", name="Fit").click()
        self.expand = Spread(tuple(self._expanded()))
        self.widget.evaluate("bench.watch()")
        self.all = self._button("Expand all")
        self.longest_task: float = self.widget.evaluate("bench.longest()")
        self._watch("pan, all open", self._pan)
        self._watch("zoom, all open", self._zoom)

    @property
    def stage(self) -> Locator:
        return self.widget.locator(".agi-graph-view")

    def _watch(self, what: str, act: Callable[[], None]) -> None:
        self.frames[what] = Spread(tuple(self.page.frames(act)))

    def _middle(self) -> tuple[float, float]:
        box = self.stage.bounding_box()
        assert box is not None
        return box["x"] + box["width"] / 2, box["y"] + min(box["height"], 400) / 2

    def _wander(self) -> None:
        """The mouse moves, and nothing with it: what the browser makes of a machine that does other work too."""
        for step in range(STEPS):
            self.mouse.move(30 + step % 20, 500 + step)

    def _pan(self) -> None:
        x, y = self._middle()
        self.mouse.move(x, y)
        self.mouse.down()
        for way in (1, -1):
            for step in range(1, STEPS // 2):
                self.mouse.move(x + way * 5 * step, y + way * 4 * step)
        self.mouse.up()

    def _zoom(self) -> None:
        self.mouse.move(*self._middle())
        self.page.page.keyboard.down("Control")
        for step in range(STEPS):
            self.mouse.wheel(0, -60 if step < STEPS / 2 else 60)
        self.page.page.keyboard.up("Control")

    def _scroll(self) -> None:
        self.mouse.move(40, 500)
        for step in range(STEPS):
            self.mouse.wheel(0, 200 if step < STEPS / 2 else -200)

    def _expanded(self) -> list[float]:
        """Blocks opened one after the other."""
        times = []
        for _ in range(BLOCKS):
            toggles = self.widget.locator(CLOSED)
            if not toggles.count():
                break
            times.append(toggles.first.evaluate(_CLICK))
        return times

    def _button(self, name: str) -> float:
        taken: float = self.widget.get_by_role("button", name=name).evaluate("b => bench.timed(() => b.click())")
        return taken
