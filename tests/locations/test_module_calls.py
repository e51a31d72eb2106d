"""Ops inside modules are placed at the line that called the module."""

from __future__ import annotations

import torch
from torch import nn

import autograd_inspector


class Half(nn.Module):
    def forward(self, x):
        if x.dim() > 1:
            raise ValueError("one dimension, please")
        return x / 2


class Quarter(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Half()

    def forward(self, x):
        return self.inner(self.inner(x))


def places(report, name: str) -> list[list[str]]:
    """The source lines of each op of that name, innermost first."""
    capture = report.capture
    return [[frame.source for frame in capture.site(op.site)] for op in capture.ops if op.name == name]


def test_each_call_of_a_module_keeps_its_own_line():
    """Frames outside a module call are read once for it, and never taken for those of another call."""
    quarter, x = Quarter(), torch.ones(3, requires_grad=True)
    with autograd_inspector.inspect() as inspection:
        first = quarter(x)
        second = quarter(first)
    half, quarter_line = "return x / 2", "return self.inner(self.inner(x))"
    expected = [[half, quarter_line, "first = quarter(x)"]] * 2 + [[half, quarter_line, "second = quarter(first)"]] * 2
    assert places(inspection.report, "div") == expected
    assert second.shape == (3,)


def test_a_module_that_raised_lends_its_line_to_no_later_call():
    """After an exception inside a module the next call of it is placed where it is made."""
    quarter, x = Quarter(), torch.ones(3, requires_grad=True)
    with autograd_inspector.inspect() as inspection:
        for value in (x[None], x):
            try:
                tried = quarter(value)
            except ValueError:
                rescued = quarter(x)
        last = quarter(x)
    callers = [lines[-1] for lines in places(inspection.report, "div")]
    assert callers == [
        line for line in ("rescued = quarter(x)", "tried = quarter(value)", "last = quarter(x)") for _ in "12"
    ]
    assert rescued.equal(tried)
    assert rescued.equal(last)
