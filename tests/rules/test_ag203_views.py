"""AG203 on views: of which leaf or tensor they are, and advice that does not lose the edit."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed, quoted
from .twins import calm

X = torch.randn(4, 3, generator=torch.Generator().manual_seed(1))


def test_slice_of_a_bias_that_is_initialised():
    """The slice is no leaf, but a view of one, which has a name although the model is not complete yet."""

    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(3, 4)
            bias = self.lstm.bias_ih_l0
            bias[4:8].fill_(1.0)

    class Decorated(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(3, 4)
            with torch.no_grad():
                self.lstm.bias_ih_l0[4:8].fill_(1.0)

    finding = diagnosed(Tagger, "AG203", "bias[4:8].fill_", "lstm.bias_ih_l0, a leaf", severity="error")
    assert quoted(finding.fix)[0] == "with torch.no_grad():"
    assert "clone()" not in finding.fix
    calm(lambda: Decorated().lstm(X)[0].sum().backward())


def test_rows_that_a_loop_hands_out():
    """The loop writes through its rows: a copy of a row would leave the tensor as it is, a new tensor does not."""

    def sick():
        feats = nn.Linear(3, 2)(X)
        for row, weight in zip(feats, torch.rand(4), strict=True):
            row.mul_(weight)
        return feats

    def healthy():
        feats = nn.Linear(3, 2)(X)
        rows = [row * weight for row, weight in zip(feats, torch.rand(4), strict=True)]
        torch.stack(rows).sum().backward()

    def assigned():
        gate, value = nn.Linear(3, 4)(X).chunk(2, dim=-1)
        gate.sigmoid_()
        return gate * value

    class Looping:
        def __call__(self, feats, weights):
            for row, weight in zip(feats, weights, strict=True):
                row.mul_(weight)

    def over_arguments():
        Looping()(nn.Linear(3, 2)(X), torch.rand(4))

    finding = diagnosed(over_arguments, "AG203", "row.mul_(weight)", "row", severity="error", where=Looping)
    assert "all of feats" in finding.fix
    assert "torch.stack" in finding.fix
    assert "torch.stack" in diagnosed(sick, "AG203", "row.mul_(weight)", "row", severity="error").fix
    assert "out-of-place" in diagnosed(assigned, "AG203", "gate.sigmoid_()", "chunk", severity="error").fix
    calm(healthy)


def test_slot_taken_under_no_grad():
    """The slot is there to write into the memory: it has to be taken where gradient is recorded."""

    def program(mode):
        memory, write = torch.zeros(4, 3), nn.Linear(3, 3)
        for index, x in enumerate(X):
            with mode():
                slot = memory[index]
            slot += write(x)
        memory.sum().backward()

    finding = diagnosed(
        lambda: program(torch.no_grad), "AG203", "slot += write(x)", "slot", severity="error", where=program
    )
    assert "not reach memory" in finding.fix
    calm(lambda: program(torch.enable_grad))


def test_part_of_a_leaf_taken_under_no_grad():
    """A leaf may not be modified where gradient is recorded: the update moves under no_grad, and not the view out."""

    def sick():
        w = torch.randn(3, 4, requires_grad=True)
        with torch.no_grad():
            row = w[0]
        row.mul_(2)
        w.sum().backward()

    def healthy():
        w = torch.randn(3, 4, requires_grad=True)
        with torch.no_grad():
            row = w[0]
            row.mul_(2)
        w.sum().backward()

    finding = diagnosed(sick, "AG203", "row.mul_(2)", "row", severity="error")
    assert quoted(finding.fix)[0] == "with torch.no_grad():"
    calm(healthy)
