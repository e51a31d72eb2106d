"""The picture of the graph in a real JupyterLab: what is marked, shaded, opened, found, and reached by keyboard."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from .lab import RUN, in_dark, in_light, opened

pytestmark = pytest.mark.ui

READY = ".autograd-inspector[data-state='ready']"
NET = """
%load_ext autograd_inspector
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
        self.norm = nn.BatchNorm1d(4)
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        hidden = self.encoder(x)
        with torch.no_grad():
            scale = self.norm(hidden).abs().mean()
        return self.head((hidden * scale).detach())

net = Net()
optimizer = torch.optim.AdamW(net.parameters())
"""
DETACHED = """%%autograd_inspect
loss = nn.functional.cross_entropy(net(torch.randn(4, 4)), torch.tensor([0, 1, 0, 1]))
loss.backward()
optimizer.step()
"""
SPOILED = """%%autograd_inspect
hidden = torch.sigmoid(net.encoder(torch.randn(4, 4)))
hidden.register_hook(lambda gradient: gradient)
out = net.head(hidden)
hidden.add_(1)
out.pow(2).sum().backward()
"""
MANY = """%%autograd_inspect
w = torch.ones(2, requires_grad=True)
parts = []
for n in range(800):
    parts.append((w * n).sin() if n % 3 else (w + n).cos().exp())
torch.stack(parts).sum().backward()
"""


def filters(widget):
    """The menu of filters, open."""
    menu = widget.locator(".agi-filters")
    if menu.get_attribute("open") is None:
        menu.locator("summary").click()
    return menu


@pytest.fixture
def widget(page, lab, request):
    """The widget of the cell that the test names, in a notebook of its own."""
    cell = request.param
    name = re.sub(r"\W+", "-", request.node.name)
    opened(page, lab.notebook(f"graph-{name}.ipynb", NET, cell))
    page.wait_for_selector(READY, timeout=2 * RUN)
    in_light(page)  # Whatever the test before left.
    page.locator(READY).first.scroll_into_view_if_needed()
    return page.locator(READY).first


def node(widget, text):
    """The box of the picture that says this."""
    return widget.locator(".agi-svg [data-node]", has_text=text)


def entry(widget, text):
    """The legend's line for this; it is opened for it."""
    legend = widget.locator(".agi-graph-page:not([hidden]) .agi-legend-fold")
    if legend.get_attribute("open") is None:
        legend.locator("summary").click()
    return widget.locator(".agi-legend-entry", has_text=text)


def fitted(widget):
    """All is open, and in sight."""
    widget.get_by_role("button", name="Expand all").click()
    widget.get_by_role("button", name="Fit").click()


def colour(locator, name="fill"):
    """What the browser paints it with."""
    return locator.evaluate("(element, name) => getComputedStyle(element)[name]", name)


@pytest.mark.parametrize("widget", [DETACHED], indirect=True, ids=["detached"])
def test_warnings_regions_and_legend(page, widget, axe, shots):
    """A warning is a triangle in its own colour, the no_grad region is shaded, both themes; the legend names all."""
    fitted(widget)
    detach = node(widget, "AG101 detached")
    expect(detach.locator(".agi-badge.agi-warning")).to_be_visible()
    expect(detach).to_have_attribute("aria-label", re.compile("detach.*AG101 detached, warning"))
    expect(widget.locator(".agi-badge.agi-error")).to_have_count(0)
    cut = widget.get_by_role("img", name="gradient is cut: detached")
    expect(cut.locator(".agi-badge.agi-warning")).to_be_visible()
    within = """([shades, box]) => shades.some((shade) => {
        const [s, b] = [shade, box].map((one) => one.getBoundingClientRect());
        return s.left <= b.left && s.top <= b.top && s.right >= b.right && s.bottom >= b.bottom;
    })"""
    shades = widget.locator(".agi-region").element_handles()
    ran, trained = node(widget, "batch_norm").element_handle(), node(widget, re.compile("^relu")).element_handle()
    assert page.evaluate(within, [shades, ran])
    assert not page.evaluate(within, [shades, trained])
    said = ("under no_grad", "warning", "gradient is cut", "frozen or without gradient", "no gradient", "parameter")
    for text in said:
        expect(entry(widget, text).first).to_be_visible()
    expect(entry(widget, "custom Function")).to_have_count(0)
    light = colour(detach.locator(".agi-badge-shape"))
    widget.screenshot(path=str(shots / "graph-warnings-light.png"))
    in_dark(page)
    expect(widget.locator(".agi-graph")).to_have_css("color", re.compile(r"rgb\(22\d"))
    assert colour(detach.locator(".agi-badge-shape")) != light
    widget.screenshot(path=str(shots / "graph-warnings-dark.png"))
    page.add_script_tag(path=str(axe))
    widget.scroll_into_view_if_needed()
    rules = "{runOnly: {type: 'rule', values: ['label-content-name-mismatch', 'aria-required-children']}}"
    found = page.evaluate(f"() => axe.run('.autograd-inspector', {rules})")
    assert [(v["id"], [n["html"][:200] for n in v["nodes"]]) for v in found["violations"]] == []


@pytest.mark.parametrize("widget", [SPOILED], indirect=True, ids=["spoiled"])
def test_errors_hooks_and_the_way_of_gradient(page, widget, shots):
    """Where backward failed, what was saved at which version, hooks; from a node the way to loss and parameters."""
    fitted(widget)
    sigmoid = node(widget, re.compile("^sigmoid"))
    expect(sigmoid).to_contain_text("saved v0, now v1")
    expect(sigmoid).to_contain_text("1 hook")
    widget.locator(".agi-graph-view").click(position={"x": 3, "y": 3})  # Nothing is chosen.
    failed = node(widget, "backward failed here").first
    expect(failed.locator(".agi-badge.agi-error")).to_be_visible()
    assert colour(failed.locator(".agi-shape").first, "stroke") == colour(failed.locator(".agi-badge-shape"))
    for text in ("backward failed", "saved tensor modified later", "hook", "error", "backward starts here"):
        expect(entry(widget, text).first).to_be_visible()
    expect(entry(widget, "gradient path")).to_have_count(0)
    sigmoid.click()
    details = widget.get_by_role("region", name="Details")
    expect(details).to_contain_text("SigmoidBackward0")
    expect(details).not_to_contain_text("raised raised")
    filters(widget).get_by_role("button", name="Gradient path").click()
    expect(entry(widget, "gradient path of the selection")).to_be_visible()
    for text in ("weight", "pow", "sum"):
        expect(node(widget, re.compile(f"^{text}")).first).not_to_have_class(re.compile("agi-dim"))
    for text in ("randn", "add_"):
        expect(node(widget, re.compile(f"^{text}"))).to_have_class(re.compile("agi-dim"))
    hot = widget.locator(".agi-wire.agi-hot > .agi-way")
    assert hot.count() > 3
    assert colour(hot.first, "stroke") != colour(
        widget.locator(".agi-wire-data:not(.agi-hot) > .agi-way").first, "stroke"
    )
    widget.screenshot(path=str(shots / "graph-path-light.png"))
    in_dark(page)
    widget.screenshot(path=str(shots / "graph-path-dark.png"))
    filters(widget).get_by_role("button", name="Gradient path").click()
    expect(widget.locator(".agi-dim, .agi-hot")).to_have_count(0)


@pytest.mark.parametrize("widget", [DETACHED], indirect=True, ids=["detached"])
def test_opened_filtered_and_searched(page, widget):
    """Click, Enter and Escape open and close; depth, the problem alone, filters and search do what they say."""
    widget.get_by_role("button", name="Expand to depth 2").click()
    widget.get_by_role("button", name="Fit").click()
    encoder = node(widget, re.compile("^encoder"))
    expect(encoder).to_have_attribute("aria-expanded", "false")
    encoder.locator(".agi-toggle").click()
    expect(encoder).to_have_attribute("aria-expanded", "true")
    expect(encoder).to_be_focused()
    page.keyboard.press("Escape")
    expect(encoder).to_have_attribute("aria-expanded", "false")
    expect(encoder).to_be_focused()
    page.keyboard.press("Enter")
    expect(encoder).to_have_attribute("aria-expanded", "true")
    widget.get_by_role("button", name="Expand to depth 1").click()
    expect(encoder).to_have_count(0)

    problem = filters(widget).get_by_role("button", name="Only the problem")
    problem.click()
    small = widget.locator(".agi-graph-page").last
    expect(node(small, "AG101 detached").first).to_be_visible()
    expect(node(small, re.compile("^cross_entropy")).first).to_be_visible()
    expect(node(widget.locator(".agi-graph-page").first, "AG101 detached").first).to_be_hidden()
    filters(widget).get_by_role("button", name="Only the problem").click()
    expect(small).to_be_hidden()

    fitted(widget)
    filters(widget).get_by_role("button", name="Parameters", exact=True).click()
    expect(node(widget, re.compile("^cross_entropy"))).to_have_class(re.compile("agi-dim"))
    expect(node(widget, re.compile("^weight")).first).not_to_have_class(re.compile("agi-dim"))
    filters(widget).get_by_role("button", name="Parameters", exact=True).click()
    filters(widget).get_by_label("Filter by dtype").select_option("int64")
    expect(node(widget, re.compile("^tensor"))).not_to_have_class(re.compile("agi-dim"))
    expect(node(widget, re.compile("^relu"))).to_have_class(re.compile("agi-dim"))
    filters(widget).get_by_label("Filter by dtype").select_option("")

    search, found = widget.get_by_label("Search the graph"), widget.locator(".agi-svg .agi-found")
    for text, name in {
        "relu": "relu",  # A name,
        "NllLoss": "cross_entropy",  # a grad_fn,
        "torch.tensor([0, 1": "cross_entropy",  # a line,
        "AG101": "detach",  # a rule.
    }.items():
        search.fill(text)
        expect(found.filter(has_text=name).first).to_be_visible()
        expect(node(widget, re.compile("^abs"))).not_to_have_class(re.compile("agi-found"))
    search.press("Enter")
    expect(widget.get_by_role("region", name="Details")).to_contain_text("detach")


@pytest.mark.parametrize("widget", [MANY], indirect=True, ids=["many"])
def test_the_canvas_takes_focus_and_selection(page, widget, shots):
    """More than the browser draws as SVG: the canvas stands in, and keyboard, click and outline still reach a box."""
    fitted(widget)
    canvas = widget.locator("canvas.agi-canvas")
    expect(canvas).to_be_visible()
    boxes = widget.locator(".agi-svg [data-node]")
    expect(boxes).to_have_count(1)
    boxes.focus()
    before = page.evaluate("document.activeElement.dataset.node")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    focused = widget.locator(".agi-svg [data-node]:focus")
    expect(focused).to_have_count(1)
    assert page.evaluate("document.activeElement.dataset.node") != before
    expect(canvas).to_be_visible()
    page.keyboard.press("Space")
    expect(focused).to_have_attribute("aria-pressed", "true")
    painted = "canvas => canvas.toDataURL()"
    plain = canvas.evaluate(painted)
    widget.get_by_label("Search the graph").fill("cos")
    expect(widget.get_by_role("toolbar").locator("output")).to_contain_text("match")
    page.wait_for_function("([canvas, plain]) => canvas.toDataURL() !== plain", arg=[canvas.element_handle(), plain])
    widget.screenshot(path=str(shots / "graph-canvas-light.png"))
    in_dark(page)
    widget.screenshot(path=str(shots / "graph-canvas-dark.png"))


@pytest.mark.parametrize("widget", [DETACHED], indirect=True, ids=["detached"])
def test_outline(page, widget, axe, shots):
    """The tree appears with the focus or for good, its keys walk and open, and Enter selects in picture and details."""
    tree = widget.get_by_role("tree", name="Outline of the graph")
    page.add_script_tag(path=str(axe))
    picture = widget.locator(".agi-graph-view").bounding_box()["width"]
    widget.get_by_role("button", name="Outline").click()
    expect(widget.locator(".agi-outline")).to_have_css("clip-path", "none")
    assert widget.locator(".agi-graph-view").bounding_box()["width"] < picture - 100
    tree.focus()
    page.keyboard.press("Home")
    rows = tree.get_by_role("treeitem")
    for _ in range(rows.count()):
        if tree.locator(".agi-active").get_attribute("aria-label").startswith("detach"):
            break
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(widget.get_by_role("region", name="Details")).to_contain_text("detach")
    expect(node(widget, "AG101 detached")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("ArrowLeft")
    expect(tree.locator(".agi-active")).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("ArrowLeft")
    expect(tree.locator(".agi-active")).to_have_attribute("aria-expanded", "false")
    expect(rows.filter(has_text="AG101")).to_have_count(0)
    found = page.evaluate("() => axe.run('.autograd-inspector')")
    assert [(v["id"], [n["html"][:200] for n in v["nodes"]]) for v in found["violations"]] == []
    widget.screenshot(path=str(shots / "graph-outline-light.png"))
    in_dark(page)
    widget.screenshot(path=str(shots / "graph-outline-dark.png"))


@pytest.mark.parametrize("widget", [DETACHED], indirect=True, ids=["detached"])
def test_exported_from_the_dark(page, widget, shots):
    """What is exported in a dark page is on white paper, with cell, torch version and legend, and no style sheet."""
    in_dark(page)
    widget.locator("summary", has_text="Export").click()
    with page.expect_download() as download:
        widget.get_by_role("button", name="SVG").click()
    download.value.save_as(shots / "graph-export.svg")
    text = (shots / "graph-export.svg").read_text(encoding="utf-8")
    assert "var(" not in text
    assert "class=" not in text
    for said in ("In [2]", "torch 2.", "under no_grad", "gradient flows back", "AG101 detached", "rgb(255, 255, 255)"):
        assert said in text
