"""Spike sorting: an average of the weights (buffers too) is swapped in for validation by exchanging .data, and swapped out again. Healthy."""
import copy
from contextlib import contextmanager

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class SpikeNet(nn.Module):
    def __init__(self, units=4):
        super().__init__()
        self.conv = nn.Conv1d(2, 8, 5, padding=2)
        self.bn = nn.BatchNorm1d(8)
        self.drop = nn.Dropout(0.2)
        self.out = nn.Linear(8, units)

    def forward(self, x):
        return self.out(self.drop(F.relu(self.bn(self.conv(x))).amax(-1)))


class Average:
    def __init__(self, model, decay=0.8):
        self.model, self.decay = model, decay
        self.copy = copy.deepcopy(model)

    def pairs(self):
        yield from zip(self.copy.parameters(), self.model.parameters())
        yield from zip(self.copy.buffers(), self.model.buffers())

    @torch.no_grad()
    def update(self):
        for a, m in self.pairs():
            if a.is_floating_point():
                a.lerp_(m, 1 - self.decay)
            else:
                a.copy_(m)

    @contextmanager
    def swapped(self):
        self.exchange()
        was_training = self.model.training
        self.model.eval()
        try:
            with torch.no_grad():
                yield self.model
        finally:
            self.model.train(was_training)
            self.exchange()

    def exchange(self):
        for a, m in self.pairs():
            a.data, m.data = m.data, a.data


def spikes(n):
    y = torch.arange(n) % 4
    t = torch.arange(20)
    shape = torch.exp(-((t - 10) / (1.0 + y[:, None])) ** 2)
    return torch.stack([shape, -0.3 * y[:, None] * shape], 1) + 0.05 * torch.randn(n, 2, 20), y


def run():
    torch.manual_seed(0)
    model = SpikeNet()
    average = Average(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    x, y = spikes(32)
    unchanged, scores = [], []
    for _ in range(4):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update()
        before = {k: v.clone() for k, v in model.state_dict().items()}
        with average.swapped() as net:
            scores.append(F.cross_entropy(net(x), y).item())
        unchanged.append(all(torch.equal(v, before[k]) for k, v in model.state_dict().items()) and model.training)
    return unchanged, scores


def verify(outcome):
    unchanged, scores = outcome
    assert all(unchanged)
    assert scores[-1] < scores[0]


TRUTH = Truth()
