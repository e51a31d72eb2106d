"""Small Glow-like normalizing flow with data dependent initialisation."""

import math

import torch
from torch import nn

from tests.practice.truth import Truth, fails


class ActNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.loc = nn.Parameter(torch.zeros(dim))
        self.log_scale = nn.Parameter(torch.zeros(dim))
        self.initialised = False

    def init_from(self, x):
        with torch.no_grad():
            mean, std = x.mean(0), x.std(0) + 1e-6
        self.loc = nn.Parameter(-mean)  # cause
        self.log_scale = nn.Parameter(-std.log())  # cause
        self.initialised = True

    def forward(self, x):
        if not self.initialised:
            self.init_from(x)
        return (x + self.loc) * self.log_scale.exp(), self.log_scale.sum().expand(len(x))


class Coupling(nn.Module):
    def __init__(self, dim, flip):
        super().__init__()
        self.half, self.flip = dim // 2, flip
        self.net = nn.Sequential(nn.Linear(self.half, 16), nn.Tanh(), nn.Linear(16, 2 * (dim - self.half)))

    def forward(self, x):
        x = x.flip(-1) if self.flip else x
        a, b = x[:, : self.half], x[:, self.half :]
        s, t = self.net(a).chunk(2, -1)
        s = torch.tanh(s)
        return torch.cat([a, b * s.exp() + t], -1), s.sum(-1)


class Glow(nn.Module):
    def __init__(self, dim=4, depth=2):
        super().__init__()
        self.steps = nn.ModuleList()
        for i in range(depth):
            self.steps += [ActNorm(dim), Coupling(dim, flip=bool(i % 2))]

    def log_prob(self, x):
        total = 0.0
        for step in self.steps:
            x, ld = step(x)
            total = total + ld
        return total - 0.5 * (x.pow(2) + math.log(2 * math.pi)).sum(-1)


def run():
    torch.manual_seed(4)
    flow = Glow()
    opt = torch.optim.Adam(flow.parameters(), lr=1e-2)
    data = torch.randn(64, 4) * torch.tensor([1.0, 2.0, 0.5, 3.0]) + 2
    snapshots = []
    for _ in range(5):
        loss = -flow.log_prob(data[torch.randperm(64)[:32]]).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        snapshots.append(flow.steps[2].log_scale.detach().clone())
    return snapshots


TRUTH = Truth(
    fault="the first forward replaces parameters the optimizer already holds",
    names=("log_scale",),
    repair=("self.loc.data.copy_(-mean)", "self.log_scale.data.copy_(-std.log())"),
)


def well(out):
    assert not torch.equal(out[1], out[-1])


verify = fails(well)
