"""AG501: an in-place write that puts a graph into memory which all rounds share."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, finding_text, inspected, trained
from .twins import calm


class Contrast(nn.Module):
    """An encoder whose features are compared with those of earlier rounds."""

    def __init__(self, write):
        super().__init__()
        self.encoder = nn.Linear(6, 4)
        self.register_buffer("bank", torch.randn(8, 4))
        self.write = write

    def forward(self, x, rows):
        z = F.normalize(self.encoder(x), dim=1)
        logits = z @ self.bank.clone().T
        self.write(self.bank, rows, z)
        return logits


def training(write, rounds=3):
    """Each round writes its features into two rows of the bank."""
    model = Contrast(write)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for each in range(rounds):
        rows = torch.tensor([each, each + 3])
        trained(optimizer, F.cross_entropy(model(torch.randn(2, 6), rows), rows))


def assigned(bank, rows, z):
    bank[rows] = z


def copied(bank, rows, z):
    bank[:2].copy_(z)


def averaged(bank, rows, z):
    bank[:2].lerp_(z, 0.5)


@pytest.mark.parametrize(
    ("write", "line"), [(assigned, "bank[rows] = z"), (copied, ".copy_(z)"), (averaged, ".lerp_(z, 0.5)")]
)
def test_the_write_is_the_culprit(write, line):
    """Not the encoder whose graph two losses then share."""
    finding = diagnosed(lambda: training(write), "AG501", line, "bank", "z", severity="error", where=write)
    assert "z.detach()" in finding.fix


@pytest.mark.parametrize(("write", "edited"), [(assigned, "bank[rows] = z.detach()"), (copied, ".copy_(z.detach())")])
def test_the_edit_cuts_where_it_is_written(write, edited):
    """The line is known, and what it writes."""
    report = inspected(lambda: training(write))
    assert edited in report.to_patch(unsafe=True)


def test_written_without_its_graph():
    """The bank keeps values alone."""
    calm(
        lambda: training(lambda bank, rows, z: bank.__setitem__(rows, z.detach())),
        lambda: training(lambda bank, rows, z: bank[:2].copy_(z.detach())),
    )


def test_two_losses_of_one_round_that_read_one_buffer_are_no_such_case():
    """Its graph is written and used within the round: the second loss needs it, so nothing is to be detached."""
    encoder = nn.Linear(3, 3)
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)

    def program():
        buffer = torch.zeros(2, 3)
        buffer[:] = encoder(torch.randn(2, 3))
        optimizer.zero_grad()
        buffer.exp().sum().backward()
        buffer.tanh().sum().backward()

    (finding,) = inspected(program).findings
    assert finding.rule == "AG501"
    assert "for later iterations" not in finding_text(finding)
