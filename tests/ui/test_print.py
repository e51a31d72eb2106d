"""A report on paper, and where no script runs: findings open, the picture whole."""

from __future__ import annotations

import contextlib

import pytest
import torch
from playwright.sync_api import expect
from torch import nn

import autograd_inspector

from .shared import READY

pytestmark = pytest.mark.ui


@pytest.fixture(scope="module")
def report():
    """Two findings, and a graph."""
    net = nn.Sequential(nn.Linear(4, 8), nn.Sigmoid(), nn.Linear(8, 1))
    with autograd_inspector.inspect() as inspection, contextlib.suppress(RuntimeError):
        hidden = net[0](torch.randn(2, 4)).sigmoid()
        hidden.sum().backward(retain_graph=True)
        _ = hidden.grad
        hidden.add_(1.0)
        net[2](hidden).sum().backward()
    assert len(inspection.report.findings) > 1
    return inspection.report


@pytest.fixture(params=[True, False], ids=["interactive", "static"])
def file(request, report, tmp_path):
    """The page's address."""
    path = tmp_path / "report.html"
    report.to_html(path, interactive=request.param)
    return path.as_uri()


def shown_whole(page, report):
    """Each finding's sentence and fix can be read, and the picture is within the page."""
    for finding in report.findings:
        section = page.locator(".ags-finding").filter(has_text=finding.rule).first
        assert section.locator(".ags-message").evaluate("part => part.checkVisibility({contentVisibilityAuto: true})")
        expect(section).to_contain_text(finding.locations[0].source.strip())
    picture = page.locator(".ags-picture:visible, .picture svg:visible").first
    box = picture.bounding_box()
    assert box is not None
    assert box["width"] <= page.viewport_size["width"]
    frame = picture.locator("xpath=..")
    assert frame.evaluate("one => one.scrollHeight <= one.clientHeight + 1 && one.scrollWidth <= one.clientWidth + 1")


def test_a_printed_report_shows_all(page, file, report):
    """On paper findings are open, the picture is not cut off, and no tool takes room."""
    page.set_viewport_size({"width": 760, "height": 1000})
    page.goto(file)
    page.emulate_media(media="print")
    shown_whole(page, report)
    expect(page.locator(READY)).to_be_hidden()
    folded = page.locator(".ags-more:not(.ags-about) > :not(summary)")
    assert folded.count() > 0
    assert folded.first.bounding_box()["height"] > 0
    expect(page.locator(".ags-about").first).to_be_hidden()


def test_without_a_script_the_answer_is_there(browser, file, report):
    """A viewer that runs no script shows the findings and the picture."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file)
    expect(page.locator(".ags-message").first).to_be_visible()
    expect(page.locator(".ags-headline").first).to_contain_text("hidden.add_(1.0)")
    context.close()


def test_on_screen_the_paper_takes_no_room(page, report, tmp_path):
    """Where scripts run, only the widget is seen."""
    report.to_html(tmp_path / "report.html", interactive=True)
    page.goto((tmp_path / "report.html").as_uri())
    expect(page.locator(READY)).to_be_visible()
    expect(page.locator("#paper")).to_be_hidden()
