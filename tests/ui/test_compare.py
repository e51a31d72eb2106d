"""Two captures beside each other, and every tab of such a widget for everybody."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from .lab import in_dark, in_light
from .programs import SETUP
from .shared import READY, shown

pytestmark = pytest.mark.ui

LOOP = """with autograd_inspector.inspect(values=True) as inspection:
    for _ in range(3):
        hidden = torch.sigmoid(net.encoder(x)){cut}
        net.head(net.norm(hidden)).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
{name} = inspection.report"""
CELLS = (
    SETUP,
    LOOP.format(cut="", name="first"),
    LOOP.format(cut=".detach()", name="second"),
    "second.widget(compare=first, name='first')",
)
TABS = ("Graph", "Findings", "Timeline", "Optimizer", "Vitals", "Compare")
SIGMOID = re.compile("^sigmoid")
NARROW = ".autograd-inspector { width: 420px }"
AXE = "async () => (await axe.run('.autograd-inspector')).violations"


@pytest.fixture(scope="module")
def page(browser, lab):
    with shown(browser, lab, "compare", *CELLS) as found:
        found.page.locator(READY).scroll_into_view_if_needed()
        yield found
        assert found.complaints == []


def graph(panel, name):
    return panel.get_by_role("group", name=f"Graph of {name}")


def test_one_selection_in_two_graphs(page):
    """A node that is chosen in one picture is pressed in both; what was added is pressed in its own alone."""
    panel = page.tab("Compare")
    older, newer = graph(panel, "first"), graph(panel, "this capture")
    expect(newer.locator(".agi-found").first).to_be_visible()
    panel.get_by_role("button", name="Show in graph: Newly cut").click()
    expect(newer.locator("[data-node][aria-pressed='true']", has_text="detach")).to_have_count(3)
    expect(older.locator("[data-node][aria-pressed='true']")).to_have_count(0)
    older.locator("[data-node]", has_text=SIGMOID).first.dispatch_event("click")
    for one in (older, newer):
        expect(one.locator("[data-node][aria-pressed='true']", has_text=SIGMOID).first).to_be_visible()


def test_the_graph_is_coloured_by_the_norm_of_gradients(page):
    """The toggle colours the boxes, the scale beside the tools says what the deepest colour is, another takes over."""
    page.tab("Graph")
    page.widget.locator(".agi-filters > summary").click()
    page.widget.get_by_role("button", name="Gradient norm").click()
    scale = page.widget.locator(".agi-heat-scale")
    expect(scale).to_be_visible()
    norm = scale.inner_text()
    assert float(norm.removeprefix("0").strip()) > 0
    page.widget.get_by_role("button", name="Bytes saved").click()
    expect(page.widget.get_by_role("button", name="Gradient norm")).to_have_attribute("aria-pressed", "false")
    expect(scale).to_contain_text("B")
    page.widget.get_by_role("button", name="Bytes saved").click()
    expect(scale).to_be_hidden()
    page.widget.locator(".agi-filters > summary").click()


@pytest.fixture(params=["light", "dark", "forced", "zoomed", "narrow"])
def how(page, request):
    """A page as somebody else needs it; afterwards it is as before."""
    window, size = page.page, page.page.viewport_size
    (in_dark if request.param == "dark" else in_light)(window)
    if request.param == "forced":
        window.emulate_media(forced_colors="active")
    if request.param == "zoomed":  # A page at 200 % has half the pixels.
        window.set_viewport_size({"width": size["width"] // 2, "height": size["height"] // 2})
    style = window.add_style_tag(content=NARROW) if request.param == "narrow" else None
    yield request.param
    if style is not None:
        style.evaluate("style => style.remove()")
    window.set_viewport_size(size)
    window.emulate_media(forced_colors="none")


def test_accessible(page, axe, shots, how):
    """axe-core finds no violation of any level in any tab: both themes, forced colours, 200 % zoom, 420 px."""
    page.page.add_script_tag(path=axe)
    for name in TABS:
        panel = page.tab(name)
        page.page.wait_for_timeout(300)  # Transitions end.
        page.widget.screenshot(path=shots / f"{how}-{name.lower()}.png")
        found = page.page.evaluate(AXE)
        assert [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found] == [], name
        if name != "Optimizer":  # A table of data may.
            assert panel.evaluate("panel => panel.scrollWidth - panel.clientWidth") <= 1, f"{name} scrolls sideways"
