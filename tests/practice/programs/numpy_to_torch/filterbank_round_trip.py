"""numpy to PyTorch: one step of the signal chain still goes through numpy; the learned filters before it get no gradient."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


def smooth(energies, width=3):
    """From the numpy version: a moving average over time."""
    kernel = np.ones(width) / width
    rows = np.apply_along_axis(np.convolve, -1, energies, kernel, mode="same")
    return rows.astype(np.float32)


class LearnedFilterbank(nn.Module):
    def __init__(self, filters=4, length=5):
        super().__init__()
        self.filters = nn.Parameter(torch.randn(filters, 1, length) / length**0.5)

    def forward(self, wave):
        energy = F.conv1d(wave[:, None], self.filters).square()
        return torch.from_numpy(smooth(energy.detach().numpy()))  # cause


class SpeechTagger(nn.Module):
    def __init__(self, filters=4, classes=3):
        super().__init__()
        self.front = LearnedFilterbank(filters)
        self.norm = nn.InstanceNorm1d(filters, affine=True)
        self.out = nn.Linear(filters, classes)

    def forward(self, wave):
        return self.out(self.norm(torch.log1p(self.front(wave))).amax(dim=-1))


def run():
    torch.manual_seed(0)
    model = SpeechTagger()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    before = model.front.filters.detach().clone()
    for _ in range(3):
        wave, label = torch.randn(6, 24), torch.randint(0, 3, (6,))
        optimizer.zero_grad()
        F.cross_entropy(model(wave), label).backward()
        optimizer.step()
    return before, model.front.filters


def verify(outcome):
    before, filters = outcome
    assert filters.grad is None and torch.equal(before, filters.detach())


TRUTH = Truth(
    fault="the filterbank's energies go through numpy: its filters are cut from the loss",
    names=("filters",),
    repair=("return F.avg_pool1d(energy, 3, stride=1, padding=1)",),
)
