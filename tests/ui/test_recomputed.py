"""What activation checkpointing computed twice, in the picture."""

from __future__ import annotations

import re

import pytest
import torch
from playwright.sync_api import expect
from torch import nn
from torch.utils.checkpoint import checkpoint

import autograd_inspector

from .shared import READY

pytestmark = pytest.mark.ui


class Net(nn.Module):
    """A block whose activations are not kept."""

    def __init__(self) -> None:
        super().__init__()
        self.block = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        return self.head(checkpoint(self.block, x, use_reentrant=False))


@pytest.fixture
def widget(page, tmp_path):
    """The interactive page of one step, all boxes open."""
    net = Net()
    with autograd_inspector.inspect() as inspection:
        net(torch.randn(2, 4)).sum().backward()
    assert inspection.report.findings == ()
    inspection.report.to_html(tmp_path / "report.html", interactive=True)
    page.goto((tmp_path / "report.html").as_uri())
    widget = page.locator(READY)
    widget.get_by_role("button", name="Expand all").click()
    return widget


def test_recomputation_is_marked_on_its_own_module(widget):
    """One box for both times an op ran, in the module that ran it, marked ↻; the legend says what that means."""
    picture = widget.get_by_role("group", name="Graph", exact=True)
    for name in ("block", "linear", "tanh"):
        again = picture.get_by_role("button", name=re.compile(f"^{name} ↻.*computed again during backward"))
        expect(again).to_have_count(1)
    expect(picture.get_by_role("button", name=re.compile("^head.*↻"))).to_have_count(0)
    expect(picture.get_by_role("button", name=re.compile("in net.block.1$"))).to_have_count(1)
    widget.locator(".agi-legend-fold > summary").click()
    expect(widget.locator(".agi-legend-entry").filter(has_text="↻")).to_contain_text("computed during backward")


def test_its_details_name_both_times(widget):
    """A click tells which op ran first, and which one again during backward."""
    widget.get_by_role("button", name=re.compile("^tanh ↻")).click()
    details = widget.get_by_role("region", name="Details")
    expect(details).to_contain_text("Computed again during backward")
    expect(details.get_by_role("listitem").filter(has_text="again as")).to_have_count(1)
