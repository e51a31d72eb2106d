"""RealNVP: ActNorm takes its first values from the data without a gradient; half of the features pass unchanged."""

import math

import torch
from torch import nn

from tests.practice.truth import Truth


class ActNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.log_scale = nn.Parameter(torch.zeros(dim))
        self.shift = nn.Parameter(torch.zeros(dim))
        self.register_buffer("initialised", torch.tensor(0, dtype=torch.uint8))

    def forward(self, x):
        if self.training and self.initialised.item() == 0:
            with torch.no_grad():
                self.shift.data.copy_(-x.mean(0))
                self.log_scale.data.copy_(-torch.log(x.std(0) + 1e-6))
                self.initialised.fill_(1)
        return (x + self.shift) * self.log_scale.exp(), self.log_scale.sum().expand(len(x))


class Coupling(nn.Module):
    def __init__(self, dim, flip):
        super().__init__()
        mask = torch.zeros(dim)
        mask[flip::2] = 1
        self.register_buffer("mask", mask)
        self.net = nn.Sequential(nn.Linear(dim, 16), nn.Tanh(), nn.Linear(16, 2 * dim))
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, x):
        s, t = self.net(x * self.mask).chunk(2, 1)
        s = torch.tanh(s) * (1 - self.mask)
        return x * s.exp() + t * (1 - self.mask), s.sum(1)


class Flow(nn.Module):
    def __init__(self, dim=4):
        super().__init__()
        self.layers = nn.ModuleList([m for i in range(3) for m in (ActNorm(dim), Coupling(dim, i % 2))])

    def log_prob(self, x):
        total = torch.zeros(len(x))
        for layer in self.layers:
            x, logdet = layer(x)
            total += logdet
        return total - 0.5 * (x.pow(2) + math.log(2 * math.pi)).sum(1)


def run():
    torch.manual_seed(0)
    flow = Flow()
    data = lambda: torch.randn(32, 4) @ torch.tril(torch.ones(4, 4)) + 2
    flow.log_prob(data())
    optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
    bits, val = [], []
    for _ in range(4):
        loss = -flow.log_prob(data()).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(flow.parameters(), 5.0)
        optimizer.step()
        bits.append(loss.item() / (4 * math.log(2)))
        flow.eval()
        with torch.no_grad():
            val.append(-flow.log_prob(data()).mean().item())
        flow.train()
    return flow, bits, val


TRUTH = Truth()


def verify(out):
    flow, bits, val = out
    assert all(p.grad is not None for p in flow.parameters())
    assert all(layer.initialised.item() == 1 for layer in flow.layers[::2]) and all(abs(v) < 100 for v in val + bits)
