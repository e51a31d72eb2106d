"""Fingers on the graph, and where the focus goes: on a page without a kernel."""

from __future__ import annotations

import contextlib

import pytest
import torch
from playwright.sync_api import expect
from torch import nn

import autograd_inspector

from .shared import READY

pytestmark = pytest.mark.ui

PHONE = {"width": 700, "height": 500}


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A page with a finding and a graph."""
    net = nn.Sequential(nn.Linear(4, 8), nn.Sigmoid(), nn.Linear(8, 1))
    with autograd_inspector.inspect() as inspection, contextlib.suppress(RuntimeError):
        hidden = net[0](torch.randn(2, 4)).sigmoid()
        hidden.add_(1.0)
        net[2](hidden).sum().backward()
    path = tmp_path_factory.mktemp("touch") / "report.html"
    inspection.report.to_html(path, interactive=True)
    return path.as_uri()


@pytest.fixture
def page(browser, address):
    """The page on a screen that is touched, lower than the page is."""
    context = browser.new_context(viewport=PHONE, has_touch=True)
    page = context.new_page()
    page.goto(address)
    page.locator(READY).wait_for()
    page.locator(".agi-graph-view").evaluate("stage => stage.scrollIntoView({ block: 'center' })")
    yield page
    context.close()


class Fingers:
    """What touches the screen, in the browser's own events."""

    def __init__(self, page):
        self.page = page
        self.session = page.context.new_cdp_session(page)
        box = page.locator(".agi-graph-view").bounding_box()
        self.middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def move(self, *ways):
        """Each finger from one point to another, relative to the middle of the graph; then all are lifted."""
        x, y = self.middle
        for step in range(11):
            points = [
                {"x": x + a + (c - a) * step / 10, "y": y + b + (d - b) * step / 10, "id": number}
                for number, (a, b, c, d) in enumerate(ways)
            ]
            self.session.send(
                "Input.dispatchTouchEvent", {"type": "touchMove" if step else "touchStart", "touchPoints": points}
            )
        self.session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        self.page.wait_for_timeout(300)


def placed(page):
    """Where the picture stands on the screen, and how large it is."""
    box = page.locator(".agi-graph-view [data-item]").first.evaluate("e => e.getBoundingClientRect().toJSON()")
    stage = page.locator(".agi-graph-view").evaluate("e => e.getBoundingClientRect().toJSON()")
    return box["x"] - stage["x"], box["y"] - stage["y"], box["width"]


def test_one_finger_scrolls_the_page_past_the_graph(page):
    """Nobody gets stuck on the picture; it stays where it is."""
    before, scrolled = placed(page), page.evaluate("scrollY")
    Fingers(page).move((0, 60, 0, -60))
    assert page.evaluate("scrollY") > scrolled
    assert placed(page) == pytest.approx(before, abs=1)


def test_two_fingers_zoom(page):
    """What they part grows, and the page itself does not."""
    *_, before = placed(page)
    Fingers(page).move((-20, 0, -60, 0), (20, 0, 60, 0))
    *_, after = placed(page)
    assert after > 1.5 * before
    assert page.evaluate("visualViewport.scale") == 1


def test_a_tap_selects_and_then_one_finger_moves_the_picture(page):
    """With the focus in it the graph is what the finger means."""
    page.locator(".agi-graph-view [data-node]").first.tap()
    expect(page.locator("[data-node][aria-pressed='true']")).to_have_count(1)
    _, y, _ = placed(page)
    scrolled = page.evaluate("scrollY")
    Fingers(page).move((0, 60, 0, 0))
    assert page.evaluate("scrollY") == scrolled
    assert placed(page)[1] == pytest.approx(y - 60, abs=12)


def test_the_focus_follows_a_finding_into_the_graph(page):
    """Enter on "Show in graph" leads to the first of its boxes, and from there arrows go on."""
    page.get_by_role("tab", name="Findings").click()
    page.get_by_role("button", name="Show in graph").first.focus()
    page.keyboard.press("Enter")
    focused = page.locator(".agi-graph-view [data-node]:focus")
    expect(focused).to_have_count(1)
    expect(focused).to_have_attribute("aria-pressed", "true")
