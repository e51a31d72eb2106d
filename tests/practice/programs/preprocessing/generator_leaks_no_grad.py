"""Wildlife sounds: a batch generator yields inside `with torch.no_grad()`, so the training step runs without gradient while it is open."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class CallNet(nn.Module):
    def __init__(self, bins=9, species=3):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(bins, 16), nn.ReLU(), nn.Linear(16, species))

    def forward(self, x):
        return self.net(x)


class Augment(nn.Module):
    """Random gain and a learnable-looking, but fixed, filter bank."""

    def __init__(self, samples=16, bins=9):
        super().__init__()
        self.bank = nn.Linear(samples, bins, bias=False)

    def forward(self, wave):
        gain = 0.5 + torch.rand(wave.size(0), 1)
        return self.bank(gain * wave).abs().log1p()


def recordings(n):
    y = torch.arange(n) % 3
    t = torch.arange(16) / 16
    return torch.sin(2 * torch.pi * (1 + 2 * y[:, None]) * t) + 0.1 * torch.randn(n, 16), y


def batches(wave, y, augment, size):
    with torch.no_grad():  # features need no gradient  # cause
        for rows in torch.randperm(len(y)).split(size):
            yield augment(wave[rows]), y[rows]  # also


def train(model, augment, data, epochs=2):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(epochs):
        for features, y in batches(*data, augment, size=8):
            loss = F.cross_entropy(model(features), y)
            optimizer.zero_grad()
            loss.backward()  # symptom
            optimizer.step()


def run():
    torch.manual_seed(0)
    model, augment = CallNet(), Augment()
    train(model, augment, recordings(24))
    return [p.grad for p in model.parameters()]


TRUTH = Truth(
    fault="no_grad stays on in the consumer between two yields",
    names=("no_grad",),
    raises="element 0 of tensors does not require grad",
    repair=("if augment.requires_grad_(False):",),
)
