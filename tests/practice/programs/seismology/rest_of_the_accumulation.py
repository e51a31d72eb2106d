"""Earthquake detection: batches left over from the last incomplete accumulation stay in .grad and go into the next epoch's first step."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class PhasePicker(nn.Module):
    def __init__(self, channels=3):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(channels, 8, 5, padding=2), nn.ReLU(), nn.Conv1d(8, 1, 5, padding=2))

    def forward(self, trace):
        return self.conv(trace).squeeze(1)


class Accumulator:
    def __init__(self, model, optimizer, every):
        self.model, self.optimizer, self.every = model, optimizer, every
        self.pending = 0
        self.used = []  # micro-batches in each step

    def add(self, loss):
        (loss / self.every).backward()
        self.pending += 1

    def ready(self, i):
        return (i + 1) % self.every == 0

    def step(self):
        self.used.append(self.pending)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.pending = 0


def traces(n):
    x = 0.2 * torch.randn(n, 3, 32)
    onset = torch.randint(4, 28, (n,))
    x[torch.arange(n), :, onset] += 2
    return x, F.one_hot(onset, 32).float()


def epoch(accumulator, data, size):
    x, y = data
    for i, rows in enumerate(torch.randperm(len(x)).split(size)):
        loss = F.binary_cross_entropy_with_logits(accumulator.model(x[rows]), y[rows])
        accumulator.add(loss)
        if accumulator.ready(i):  # cause
            accumulator.step()  # also


def run():
    torch.manual_seed(0)
    model = PhasePicker()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    accumulator = Accumulator(model, optimizer, every=4)
    data = traces(24)
    for _ in range(3):
        epoch(accumulator, data, size=4)
    left = sum(float(p.grad.abs().sum()) for p in model.parameters() if p.grad is not None)
    return accumulator.used, left


def verify(outcome):
    used, left = outcome
    assert max(used) > 4 and left > 0


TRUTH = Truth(
    minor=True,
    fault="six batches are no multiple of four: two are carried over, and two more are never used",
    names=("step",),
    repair=("if accumulator.ready(i) or i + 1 == -(-len(x) // size):",),
)
