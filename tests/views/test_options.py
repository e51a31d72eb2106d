"""What the arguments of views may be."""

from __future__ import annotations

import pytest
import torch

import autograd_inspector


@pytest.fixture(scope="module")
def report():
    with autograd_inspector.inspect() as inspection:
        torch.nn.Linear(2, 2)(torch.ones(1, 2)).sum().backward()
    return inspection.report


@pytest.mark.parametrize(
    ("show", "said"),
    [
        (lambda r: r.to_text(order="size"), "order='size': write 'model' or 'bytes'"),
        (lambda r: r.to_text(width=3), "width=3: write a whole number, 20 or more"),
        (lambda r: r.to_text(width="wide"), "width='wide': write a whole number, 20 or more"),
        (lambda r: r.to_dot(color_by="dtype"), "color_by='dtype': write 'gradient' or 'device'"),
        (lambda r: r.to_dot(boxes=0), "boxes=0: write a whole number, 1 or more"),
        (lambda r: r.to_dot(boxes=True), "boxes=True: write a whole number, 1 or more"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_one_line(report, show, said):
    """The line says what was given and what to write instead."""
    with pytest.raises(ValueError, match=r"^\w+=") as refused:
        show(report)
    assert str(refused.value) == said


def test_the_least_that_can_be_shown(report):
    """A text of 20 columns and a picture of one box."""
    assert max(map(len, report.to_text(width=20).splitlines())) <= 20
    assert report.to_dot(boxes=1).startswith("digraph")
