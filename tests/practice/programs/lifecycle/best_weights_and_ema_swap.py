"""Early stopping on averaged weights: swapped in by data, measured, swapped back, the best copied and restored."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 1))

    def forward(self, x):
        return self.body(x).squeeze(-1)


class Averaged:
    """Swaps p.data with its average for the time of an evaluation."""

    def __init__(self, params, decay):
        self.params = list(params)
        self.decay = decay
        self.average = [p.data.clone() for p in self.params]

    def update(self):
        for p, a in zip(self.params, self.average):
            a.mul_(self.decay).add_(p.data, alpha=1 - self.decay)

    def swap(self):
        for i, p in enumerate(self.params):
            p.data, self.average[i] = self.average[i], p.data

    def __enter__(self):
        self.swap()

    def __exit__(self, *_):
        self.swap()


class EarlyStopping:
    def __init__(self, patience=1):
        self.patience, self.best, self.state, self.bad = patience, float("inf"), None, 0

    def __call__(self, value, model):
        if value < self.best:
            self.best, self.state, self.bad = value, copy.deepcopy(model.state_dict()), 0
        else:
            self.bad += 1
        return self.bad > self.patience


def evaluate(model, x, y):
    model.eval()
    with torch.inference_mode():
        value = F.mse_loss(model(x), y).item()
    model.train()
    return value


def run():
    torch.manual_seed(0)
    model = Regressor()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.5)
    averaged, stopper = Averaged(model.parameters(), 0.6), EarlyStopping()
    vx = torch.randn(32, 5)
    vy = vx[:, 0]
    start = copy.deepcopy(model.state_dict())
    for epoch in range(4):
        x = torch.randn(32, 5)
        optimizer.zero_grad()
        F.mse_loss(model(x), x[:, 0]).backward()
        optimizer.step()
        averaged.update()
        with averaged:
            stop = stopper(evaluate(model, vx, vy), model)
        if stop:
            break
    model.load_state_dict(stopper.state)
    return stopper.best, evaluate(model, vx, vy), [not torch.equal(start[k], v) for k, v in model.state_dict().items()]


def verify(outcome):
    best, again, moved = outcome
    assert abs(best - again) < 1e-6
    assert all(moved)


TRUTH = Truth()
