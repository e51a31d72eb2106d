"""Learning-rate search: the weights are put back after the search, Adam's moments and step count are not."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class EcgNet(nn.Module):
    def __init__(self, beats=3):
        super().__init__()
        self.conv = nn.Conv1d(1, 6, 5, stride=2)
        self.out = nn.Linear(6, beats)

    def forward(self, x):
        return self.out(F.elu(self.conv(x)).mean(-1))


class LRFinder:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.saved = {"model": copy.deepcopy(model.state_dict()), "optimizer": copy.deepcopy(optimizer.state_dict())}
        self.history = []

    def search(self, x, y, low=1e-4, high=1.0, steps=6):
        for i in range(steps):
            lr = low * (high / low) ** (i / (steps - 1))
            self.set_lr(lr)
            loss = F.cross_entropy(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.history.append((lr, loss.item()))
        return min(self.history, key=lambda pair: pair[1])[0] / 10

    def set_lr(self, lr):
        for group in self.optimizer.param_groups:
            group["lr"] = lr

    def reset(self):
        self.model.load_state_dict(self.saved["model"])  # also
        self.optimizer.zero_grad()  # cause


def beats(n):
    y = torch.arange(n) % 3
    t = torch.linspace(-1, 1, 24)
    x = torch.exp(-((t / (0.1 + 0.15 * y[:, None])) ** 2)) + 0.05 * torch.randn(n, 24)
    return x[:, None], y


def train(model, optimizer, x, y, steps):
    losses = []
    for _ in range(steps):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def run():
    torch.manual_seed(0)
    model = EcgNet()
    x, y = beats(30)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    finder = LRFinder(model, optimizer)
    lr = finder.search(x, y)
    finder.reset()
    finder.set_lr(lr)
    clean = copy.deepcopy(model)
    losses = train(model, optimizer, x, y, 4)
    return losses, train(clean, torch.optim.Adam(clean.parameters(), lr=lr), x, y, 4)


def verify(outcome):
    searched, clean = outcome
    assert searched[0] == clean[0]
    assert searched[1:] != clean[1:]


TRUTH = Truth(
    fault="the optimizer keeps exp_avg, exp_avg_sq and step of the search; its saved state is not loaded",
    names=("load_state_dict", "optimizer"),
    repair=('self.optimizer.load_state_dict(self.saved["optimizer"])',),
)
