"""Accumulation over four micro-batches of an epoch of six: the last two are cleared before a step uses them."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loader = DataLoader(TensorDataset(torch.randn(48, 10), torch.randint(2, (48,))), batch_size=8)
    steps = 0
    for _epoch in range(3):
        optimizer.zero_grad()  # also
        for i, (x, y) in enumerate(loader):
            loss = nn.functional.cross_entropy(model(x), y) / 4
            loss.backward()  # also
            if (i + 1) % 4 == 0:  # cause
                optimizer.step()  # also
                optimizer.zero_grad()  # also
                steps += 1
    return steps


def verify(steps):
    assert steps == 3


TRUTH = Truth(
    fault="the gradients of the last micro-batches are never used",
    names=("zero_grad",),
    minor=True,
    repair=("if (i + 1) % 4 == 0 or i + 1 == len(loader):",),
)
