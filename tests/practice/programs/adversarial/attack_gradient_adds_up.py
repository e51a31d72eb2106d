"""Adversarial training on spectra: PGD never clears delta.grad, so each step follows the sum of all gradients so far."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class MineralNet(nn.Module):
    def __init__(self, bands=16, minerals=4):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(bands, 24), nn.Softplus(), nn.Linear(24, minerals))

    def forward(self, x):
        return self.net(x)


class PGD:
    def __init__(self, model, epsilon=1.0, step=0.5, iterations=4):
        self.model = model
        self.epsilon, self.step, self.iterations = epsilon, step, iterations
        self.mismatch = []

    def __call__(self, x, y):
        self.model.requires_grad_(False)
        delta = torch.zeros_like(x).uniform_(-self.epsilon, self.epsilon).requires_grad_(True)
        for _ in range(self.iterations):
            loss = F.cross_entropy(self.model(x + delta), y, reduction="sum")
            (now,) = torch.autograd.grad(loss, delta, retain_graph=True)
            loss.backward()
            self.mismatch.append((delta.grad - now).abs().max().item())
            with torch.no_grad():
                direction = delta.grad / (delta.grad.norm(dim=1, keepdim=True) + 1e-9)
                delta += self.step * direction  # also
                delta.clamp_(-self.epsilon, self.epsilon)  # cause
        self.model.requires_grad_(True)
        return (x + delta).detach()


def library(n):
    y = torch.arange(n) % 4
    x = 0.5 * torch.randn(n, 16)
    x[torch.arange(n), 4 * y] += 2
    return x, y


def run():
    torch.manual_seed(0)
    model = MineralNet()
    attack = PGD(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    x, y = library(32)
    for _ in range(3):
        worst = attack(x, y)
        loss = 0.5 * F.cross_entropy(model(x), y) + 0.5 * F.cross_entropy(model(worst), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return attack.mismatch


def verify(outcome):
    assert outcome[0] == 0.0
    assert max(outcome) > 1e-3


TRUTH = Truth(
    fault="delta.grad accumulates over the iterations of the attack",
    names=("delta", "grad"),
    repair=("delta.clamp_(-self.epsilon, self.epsilon)\ndelta.grad = None",),
)
