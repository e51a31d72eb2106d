"""Learning-rate range test that runs into NaN on purpose and puts weights, buffers, moments and RNG back."""

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(5, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Dropout(0.2), nn.Linear(12, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


class RangeTest:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def __enter__(self):
        self.saved = copy.deepcopy((self.model.state_dict(), self.optimizer.state_dict()))
        self.rng = torch.get_rng_state()
        return self

    def __exit__(self, *_):
        self.model.load_state_dict(self.saved[0])
        self.optimizer.load_state_dict(self.saved[1])
        self.optimizer.zero_grad()
        torch.set_rng_state(self.rng)

    def sweep(self, steps=5, start=1e-3, end=10.0):
        curve = []
        for i in range(steps):
            lr = start * (end / start) ** (i / (steps - 1))
            for group in self.optimizer.param_groups:
                group["lr"] = lr
            x, y = batch()
            self.optimizer.zero_grad()
            loss = F.mse_loss(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            curve.append((lr, loss.item()))
            if not math.isfinite(loss.item()) or loss.item() > 50 * curve[0][1]:
                break
        return curve


def batch(n=16):
    x = torch.randn(n, 5)
    return x, x[:, 0] * 3


def train(testing):
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    curve = []
    for epoch in range(2):
        if testing:
            with RangeTest(model, optimizer) as test:
                curve = test.sweep()
        for _ in range(2):
            x, y = batch()
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
    return model.state_dict(), curve


def run():
    return train(True), train(False)


def verify(outcome):
    (tested, curve), (plain, _) = outcome
    assert len(curve) > 2
    assert all(torch.equal(tested[k], plain[k]) for k in plain)


TRUTH = Truth()
