"""Details: everything about the selected node, with its neighbours as links."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.ui


@pytest.fixture
def trained(program):
    return program("trained")


@pytest.fixture
def about(trained):
    """Selects a node by its name; returns what the region says."""

    def selected(name):
        trained.select(name)
        return trained.details

    return selected


def rows(details, title):
    """The lines of one section."""
    section = details.locator(".agi-section").filter(has=details.page.get_by_role("heading", name=title, exact=True))
    return section.locator("li").all_inner_texts()


def test_an_op_tells_its_grad_fn_module_and_lines(about):
    """The name, the node that autograd made, the module and its class, the line and who called it."""
    details = about("layer_norm")
    expect(details.get_by_role("heading", level=3)).to_have_text("layer_norm")
    facts = dict(zip(details.locator("dt").all_inner_texts(), details.locator("dd").all_inner_texts(), strict=True))
    assert facts == {"module": "net.norm", "class": "LayerNorm", "grad_fn": "NativeLayerNormBackward0"}
    called, caller = rows(details, "Source")
    assert re.search(r"In \[1\], line 19 in Net.forward\s+return self.head\(self.norm\(hidden\)\)", called)
    assert re.search(r"In \[2\], line 2\s+loss = net\(x\)", caller)


def test_inputs_and_outputs_have_shape_dtype_device_grad_and_version(about):
    """Each with its bytes, and a link to what made it."""
    details = about("layer_norm")
    hidden, weight, _bias = rows(details, "Inputs")
    assert re.search(r"hidden 3×8 · float32 · cpu · 96 B · v0\s*requires grad", hidden)
    assert re.search(r"norm.weight 8 · float32 · cpu · 32 B · v\d\s*requires grad", weight)
    (out,) = rows(details, "Outputs")
    assert re.search(r"3×8 · float32 · cpu · 96 B · v0\s*requires grad", out)


def test_saved_tensors_have_bytes_version_and_status(about):
    """Each by the name that autograd gives it."""
    saved = {row.split()[0]: row for row in rows(about("layer_norm"), "Saved for backward")}
    assert set(saved) == {"input", "weight", "bias", "result1", "result2"}
    assert re.search(r"3×8 · float32 · cpu · 96 B · v0\s*valid", saved["input"])
    assert re.search(r"3×1 · float32 · cpu · 12 B · v0\s*valid", saved["result1"])


def test_hooks_and_in_place_writes_are_told(about):
    """A hook on a tensor is counted at the op that made it; a write moves a version."""
    expect(about("sigmoid").get_by_text("1 hook")).to_be_visible()
    (written,) = rows(about("mul_"), "Modified in place")
    assert "v0 → v1" in written


def test_a_parameter_tells_what_it_is(about):
    """Shape, dtype, device, bytes and whether it learns; and whether it has a gradient."""
    details = about("net.encoder.weight")
    facts = dict(zip(details.locator("dt").all_inner_texts(), details.locator("dd").all_inner_texts(), strict=True))
    assert facts == {"shape": "8×4", "dtype": "float32", "device": "cpu", "bytes": "128 B", "requires grad": "yes"}
    expect(details.get_by_text("has a gradient")).to_be_visible()


def test_neighbours_are_links_that_lead_on(trained, about):
    """A link selects the neighbour in the graph and tells a screen reader; the keyboard follows it as well."""
    details = about("layer_norm")
    comes = details.locator(".agi-section").filter(has_text="Comes from")
    comes.get_by_role("button", name="sigmoid").focus()
    trained.page.keyboard.press("Enter")
    expect(details.get_by_role("heading", level=3)).to_have_text("sigmoid")
    expect(trained.widget.locator("[data-node][aria-pressed='true']")).to_have_attribute(
        "aria-label", re.compile("sigm")
    )
    expect(trained.widget.locator(".agi-status")).to_have_text("net · sigmoid")


def test_long_details_scroll_and_nothing_is_squeezed(trained, about):
    """The region is shorter than what it says: it scrolls, and every fact keeps its height."""
    details = about("layer_norm")
    heights = details.evaluate("e => [e.scrollHeight, e.clientHeight]")
    assert heights[0] > heights[1]
    assert all(box["height"] >= 16 for box in (fact.bounding_box() for fact in details.locator("dd").all()))


def test_a_modified_saved_tensor_stands_out(program):
    """Its versions then and now, in the colour of errors, and the finding as a way to its story."""
    spoiled = program("spoiled")
    spoiled.select("layer_norm")
    alarm = spoiled.details.locator("li.agi-alarm").filter(has_text="saved v0, now v1")
    expect(alarm).to_contain_text("modified")
    spoiled.details.get_by_role("button", name="AG201 saved-tensor-modified").click()
    expect(spoiled.details.get_by_role("heading", level=3)).to_have_text("Where it happened")
    expect(spoiled.details.locator(".agi-culprit")).to_contain_text("hidden.add_(1.0)")
