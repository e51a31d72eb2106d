"""From a line that the widget names to that line in the notebook, without any extension."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from .lab import RUN, opened

pytestmark = pytest.mark.ui
READY = ".autograd-inspector[data-state='ready']"
BETWEEN = "\n".join(f"unrelated_{n} = {n}" for n in range(80))
MODEL = """%load_ext autograd_inspector
import torch
from torch import nn
encoder, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
def hidden(x):
    return encoder(x).detach()
"""
STEP = """%%autograd_inspect
loss = head(hidden(torch.ones(2, 4))).sum()
loss.backward()
optimizer.step()
"""


def test_a_finding_leads_to_its_line_in_another_cell(page, lab):
    """The culprit stands in the first cell, far above the widget: one click brings its line into view."""
    opened(page, lab.notebook("jump.ipynb", MODEL, BETWEEN, STEP))
    page.wait_for_selector(READY, timeout=RUN)
    widget = page.locator(READY).first
    widget.get_by_role("tab", name=re.compile("Findings")).click()
    widget.scroll_into_view_if_needed()
    line = page.locator(".jp-Cell").first.locator(".cm-line", has_text="return encoder(x).detach()")
    expect(line).not_to_be_in_viewport()
    widget.get_by_role("button", name="Go to In [1], line 7").first.click()
    expect(line).to_be_in_viewport()
    assert line.evaluate("line => line.getAnimations().length") == 1
