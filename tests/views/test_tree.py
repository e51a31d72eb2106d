"""The graph folded by module."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import autograd_inspector
from autograd_inspector.views.summaries.tree import branches


@pytest.mark.parametrize(
    ("order", "name"),
    [
        ((0, 1, 2, 3), "layers.0 … layers.3"),
        ((0, 1), "layers.0, layers.1"),
        ((3, 1, 2), "layers.3, layers.1, layers.2"),
        ((5, 7, 3, 1), "layers.5, layers.7, layers.3, layers.1"),
        ((7, 6, 5, 4), "layers.7, layers.6, layers.5, layers.4"),
        ((0, 2, 4, 6), "layers.0, layers.2, layers.4, layers.6"),
        ((2, 2, 2), "layers.2"),
    ],
)
def test_equal_calls_are_named_in_the_order_of_the_program(order, name):
    """A range stands for numbers that rise one by one; all else is listed as it was called.

    Where no module is around them, they have the name that findings say: not `0`.
    """
    layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(8))
    with autograd_inspector.inspect() as inspection:
        h = torch.ones(1, 2)
        for number in order:
            h = layers[number](h)
        h.sum().backward()
    branch, *_ = branches(inspection.report)
    assert (branch.name, branch.times) == (name, len(order))


def test_lines_outside_of_modules_stand_in_the_order_of_the_program():
    """Three steps of three optimizers are three lines, the first called first."""
    w = [torch.ones(2, requires_grad=True) for _ in range(3)]
    first, second, third = (torch.optim.AdamW([parameter]) for parameter in w)
    with autograd_inspector.inspect() as inspection:
        sum(w).sum().backward()
        third.step()
        first.step()
        second.step()
    called = [branch.type for branch in branches(inspection.report) if "step" in branch.type]
    assert called == ["third.step()", "first.step()", "second.step()"]
