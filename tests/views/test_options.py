"""What the arguments of views may be."""

from __future__ import annotations

import re

import pytest
import torch

import autograd_inspector


@pytest.fixture(scope="module")
def report():
    with autograd_inspector.inspect() as inspection:
        torch.nn.Linear(2, 2)(torch.ones(1, 2)).sum().backward()
    return inspection.report


@pytest.mark.parametrize(
    ("show", "given", "offered"),
    [
        (lambda r: r.to_text(order="size"), "order='size'", ("'model'", "'bytes'")),
        (lambda r: r.to_text(width=3), "width=3", ("20",)),
        (lambda r: r.to_text(width="wide"), "width='wide'", ("20",)),
        (lambda r: r.to_dot(color_by="dtype"), "color_by='dtype'", ("'gradient'", "'device'")),
        (lambda r: r.to_dot(boxes=0), "boxes=0", ("1",)),
        (lambda r: r.to_dot(boxes=True), "boxes=True", ("1",)),
    ],
)
def test_what_cannot_be_shown_is_refused_in_one_line(report, show, given, offered):
    """The line says what was given and what to write instead."""
    with pytest.raises(ValueError, match=r"^\w+=") as refused:
        show(report)
    line = str(refused.value)
    assert line.partition(": ")[0] == given
    assert re.findall(r"'\w+'|\d+", line.partition(": ")[2]) == [*offered]
    assert "\n" not in line


def test_the_least_that_can_be_shown(report):
    """A text of 20 columns and a picture of one box."""
    assert max(map(len, report.to_text(width=20).splitlines())) <= 20
    assert report.to_dot(boxes=1).startswith("digraph")
