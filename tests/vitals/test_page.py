"""The vitals on the static page."""

import re

import torch
from torch import nn

import autograd_inspector


def test_the_page_has_the_rows_that_the_text_has():
    """What was measured, where, from which value to which, and its line; nothing where nothing was measured."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    pages = []
    for values in (True, False):
        with autograd_inspector.inspect(values=values) as inspection:
            for _ in range(3):
                optimizer.zero_grad()
                net(torch.randn(16, 4)).pow(2).mean().backward()
                optimizer.step()
        pages.append(inspection.report)
    measured, not_measured = pages
    assert "<h2>Vitals</h2>" not in not_measured.to_html()
    page = measured.to_html().partition("<h2>Vitals</h2>")[2]
    rows = re.findall(r"<tr><td>(.*?)</td><td>(.*?)</td><td>(.*?)</td>", page)
    assert len(rows) == 10
    lines = measured.to_text(width=160).splitlines()
    for title, label, said in rows:
        assert any(line.startswith(title) and label in line and said in line for line in lines), (title, label, said)
