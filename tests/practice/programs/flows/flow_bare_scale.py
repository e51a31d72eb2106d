"""A normalising flow keeps its scales as bare tensors, which `parameters()` does not return."""

import math

import torch
from torch import nn

from tests.practice.truth import Truth


class Coupling(nn.Module):
    def __init__(self, dim, flip):
        super().__init__()
        self.half, self.flip = dim // 2, flip
        self.net = nn.Sequential(nn.Linear(self.half, 16), nn.Tanh(), nn.Linear(16, dim))
        self.rescale = torch.zeros(self.half, requires_grad=True)  # cause

    def forward(self, x):
        a, b = x.chunk(2, -1)
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, -1)
        s = self.rescale.exp() * torch.tanh(s)
        b = b * s.exp() + t
        return torch.cat([b, a] if self.flip else [a, b], -1), s.sum(-1)


class Flow(nn.Module):
    def __init__(self, dim=4, depth=3):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(dim, i % 2 == 1) for i in range(depth))

    def log_prob(self, x):
        total = 0.0
        for layer in self.layers:
            x, log_det = layer(x)
            total = total + log_det
        return total - 0.5 * (x**2 + math.log(2 * math.pi)).sum(-1)


def run():
    torch.manual_seed(0)
    flow = Flow()
    optimizer = torch.optim.Adam(flow.parameters(), lr=1e-3)
    for _ in range(3):
        loss = -flow.log_prob(torch.randn(16, 4)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return flow.layers[0].rescale.detach()


TRUTH = Truth(
    fault="a tensor of the module that no optimizer has",
    names=("rescale",),
    repair=("self.rescale = nn.Parameter(torch.zeros(self.half))",),
)


def verify(rescale):
    assert torch.equal(rescale, torch.zeros_like(rescale))
