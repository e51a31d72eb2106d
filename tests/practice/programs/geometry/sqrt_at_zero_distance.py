"""Molecules: torch.where hides the sqrt of the zero self-distance in the forward, but its infinite slope becomes NaN in the backward."""

import torch
from torch import nn

from tests.practice.truth import Truth


class LearntEmbedding(nn.Module):
    """Places residues in space so that contacts are near."""

    def __init__(self, residues=8):
        super().__init__()
        self.xyz = nn.Parameter(torch.randn(residues, 3))
        self.radius = nn.Parameter(torch.tensor(1.0))

    def distances(self):
        diff = self.xyz[:, None] - self.xyz[None]
        squared = diff.square().sum(-1)
        return torch.where(squared > 0, squared.sqrt(), torch.zeros_like(squared))  # cause

    def forward(self):
        return torch.sigmoid(4 * (self.radius - self.distances()))


def contact_map(residues):
    i = torch.arange(residues)
    return ((i[:, None] - i[None]).abs() <= 1).float()


def clean_gradients(module):
    """Safety net: a spike must not end the run."""
    bad = 0
    for p in module.parameters():
        broken = ~torch.isfinite(p.grad)
        bad += int(broken.sum())
        p.grad[broken] = 0
    return bad


def run():
    torch.manual_seed(0)
    model = LearntEmbedding()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    contacts = contact_map(8)
    start = model.xyz.detach().clone()
    spikes = []
    for _ in range(4):
        loss = nn.functional.binary_cross_entropy(model().clamp(1e-6, 1 - 1e-6), contacts)
        optimizer.zero_grad()
        loss.backward()
        spikes.append(clean_gradients(model))
        optimizer.step()
    return start, model.xyz.detach(), spikes


def verify(outcome):
    start, now, spikes = outcome
    assert torch.equal(start, now)
    assert all(n == now.numel() for n in spikes)


TRUTH = Truth(
    fault="sqrt's gradient at zero is infinite, times zero NaN: all coordinates' gradients are NaN and are swept away",
    values=True,
    names=("sqrt", "xyz"),
    repair=("return torch.where(squared > 0, torch.where(squared > 0, squared, 1.0).sqrt(), 0.0)",),
)
