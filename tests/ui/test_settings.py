"""Settings that the user sees: the panel that comes by itself, colours; and a system that wants no motion."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .lab import RUN, command, in_light, in_theme, opened
from .panel import PANEL, Panel
from .programs import SETUP, SPOILED, TRAINED
from .settings import change
from .shared import READY, SIZE, shut_down

pytestmark = pytest.mark.ui


@pytest.fixture
def page(browser, lab, request):
    """``page({"depth": 2}, TRAINED)`` is a page of those settings in which those cells ran; its panel is closed."""
    contexts = []

    def made(settings: dict[str, object], *cells: str, **options: str) -> Panel:
        change(lab, settings)
        contexts.append(browser.new_context(viewport=SIZE, **options))
        panel = Panel(contexts[-1].new_page())
        opened(panel.page, lab.notebook(f"{request.node.name.partition('[')[0]}.ipynb", SETUP, *cells))
        panel.page.wait_for_selector(READY, timeout=RUN)
        return panel

    yield made
    for context in contexts:
        context.close()
    shut_down(lab)
    change(lab, {})


def test_the_panel_comes_when_a_capture_has_an_error(page):
    """Where the user asks for it, with that capture in it; whoever types in a cell goes on typing there."""
    panel = page({"openOnError": True}, TRAINED, SPOILED)
    panel.widget.wait_for(timeout=RUN)
    expect(panel.root.get_by_role("heading", level=2)).to_have_text("In [3]")
    command(panel.page, "application:toggle-right-area")
    expect(panel.root).to_be_hidden()
    cell = panel.cell(2)
    cell.locator(".cm-content").click()
    panel.page.keyboard.press("Control+End")
    panel.page.keyboard.press("Control+Enter")
    panel.page.keyboard.press("Enter")
    panel.page.keyboard.type("# typed on")
    panel.root.wait_for(timeout=RUN)
    panel.page.keyboard.type(" and on")
    expect(cell.locator(".cm-content")).to_contain_text("# typed on and on")


def test_healthy_captures_leave_the_panel_closed(page):
    """Nothing went wrong: nothing moves."""
    panel = page({}, TRAINED)
    expect(panel.cell(1).locator(READY)).to_be_visible()
    expect(panel.page.locator(PANEL)).to_be_hidden()


def test_the_panel_stays_closed_where_the_user_wants_it(page):
    """Or has not asked for it: the status bar says what was found, and its tab has a dot."""
    panel = page({}, SPOILED)
    expect(panel.page.locator(".agi-findings-count")).to_have_text("1 error", timeout=RUN)
    expect(panel.page.locator(PANEL)).to_be_hidden()


def colours(panel: Panel) -> dict[str, str]:
    """Of the same severity at all the places where it is shown."""
    places = {
        "panel": f"{PANEL} .agi-chip.agi-error",
        "widget": f"{READY} .agi-chip.agi-error",
        "cell": ".agi-squiggle",
    }
    return {
        name: panel.page.locator(place).first.evaluate(
            "e => getComputedStyle(e).getPropertyValue('--agi-error').trim()"
        )
        for name, place in places.items()
    }


def test_colours_of_severities(page):
    """Panel, widget, picture and cells change together, in both themes; no scheme looks like another."""
    found = []
    for scheme in ("default", "safe", "monochrome"):
        panel = page({"colours": scheme}, SPOILED)
        panel.show()
        panel.pick(panel.entries.first)
        for dark in (False, True):
            in_theme(panel.page, dark=dark)
            colour = set(colours(panel).values())
            assert len(colour) == 1, (scheme, dark, colour)
            found += colour
            node = panel.widget.locator(".agi-item.agi-has-error").first
            line = node.evaluate("e => getComputedStyle(e).getPropertyValue('--agi-error-line').trim()")
            assert painted(panel, line) == node.locator(".agi-shape").evaluate("e => getComputedStyle(e).stroke")
        in_light(panel.page)
    assert len(set(found)) == len(found), found


def painted(panel: Panel, colour: str) -> str:
    """A colour as the browser writes it."""
    return panel.page.evaluate(
        "colour => { const e = document.createElement('i'); e.style.color = colour; document.body.append(e);"
        " const made = getComputedStyle(e).color; e.remove(); return made; }",
        colour,
    )


def test_nothing_moves_where_the_system_wants_no_motion(page):
    """A line that is jumped to stays lit for its moment, without an animation; buttons change at once."""
    panel = page({}, SPOILED, reduced_motion="reduce")
    widget = panel.cell(1).locator(READY)
    widget.locator("[role=tab]").filter(has_text="Findings").click()
    widget.locator("button.agi-goto").first.click()
    lit = panel.page.locator(".jp-Notebook .cm-line.agi-flash").first
    lit.wait_for()
    assert lit.evaluate("e => getComputedStyle(e).animationName") == "none"
    assert lit.evaluate("e => getComputedStyle(e).backgroundColor") != "rgba(0, 0, 0, 0)"
    assert widget.locator(".agi-button").first.evaluate("e => getComputedStyle(e).transitionDuration") == "0s"
