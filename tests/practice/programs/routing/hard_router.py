"""Mixture of experts for energy load: the gate's argmax picks the expert and its probability is never used, so the router learns nothing."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Router(nn.Module):
    def __init__(self, dim, experts):
        super().__init__()
        self.gate = nn.Linear(dim, experts)

    def forward(self, x):
        probability = self.gate(x).softmax(-1)
        top, index = probability.max(-1)  # also
        return top, index


class SwitchLayer(nn.Module):
    def __init__(self, dim, experts=3):
        super().__init__()
        self.router = Router(dim, experts)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim)) for _ in range(experts)
        )

    def forward(self, x):
        top, index = self.router(x)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            rows = index == i
            out[rows] = expert(x[rows])  # cause
        return x + out


class LoadForecaster(nn.Module):
    def __init__(self, hours=12):
        super().__init__()
        self.norm = nn.LayerNorm(hours)
        self.switch = SwitchLayer(hours)
        self.out = nn.Linear(hours, 1)

    def forward(self, x):
        return self.out(self.switch(self.norm(x))).squeeze(-1)


def days(n):
    kind = torch.randint(3, (n, 1))
    t = torch.arange(13) / 13
    load = 1 + torch.sin(2 * torch.pi * (kind + 1) * t) + 0.1 * torch.randn(n, 13)
    return load[:, :-1], load[:, -1]


def run():
    torch.manual_seed(0)
    model = LoadForecaster()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    x, y = days(64)
    gate = model.switch.router.gate
    start = gate.weight.detach().clone()
    for _ in range(4):
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return start, gate.weight.detach(), gate.weight.grad


def verify(outcome):
    start, now, grad = outcome
    assert grad is None and torch.equal(start, now)


TRUTH = Truth(
    fault="only the index of the gate is used; the loss does not depend on the router",
    names=("router", "gate"),
    repair=("out[rows] = top[rows, None] * expert(x[rows])",),
)
