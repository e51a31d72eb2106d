"""Glow: ActNorm makes new parameters from the first batch, when the optimizer already has the old ones."""

import math

import torch
from torch import nn

from tests.practice.truth import Truth


class ActNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.loc = nn.Parameter(torch.zeros(dim))
        self.log_scale = nn.Parameter(torch.zeros(dim))
        self.register_buffer("initialised", torch.tensor(False))

    @torch.no_grad()
    def initialise(self, x):
        self.loc.copy_(-x.mean(0))
        self.log_scale = nn.Parameter(-torch.log(x.std(0) + 1e-6))  # cause
        self.initialised.fill_(True)

    def forward(self, x):
        if not self.initialised:
            self.initialise(x)
        return (x + self.loc) * self.log_scale.exp(), self.log_scale.sum().expand(len(x))


class Coupling(nn.Module):
    def __init__(self, dim, hidden=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim // 2, hidden), nn.ReLU(), nn.Linear(hidden, dim))

    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        shift, log_s = self.net(a).chunk(2, dim=1)
        log_s = torch.tanh(log_s)
        return torch.cat([b * log_s.exp() + shift, a], dim=1), log_s.sum(1)


class Flow(nn.Module):
    def __init__(self, dim=4, blocks=2):
        super().__init__()
        self.steps = nn.ModuleList([m for _ in range(blocks) for m in (ActNorm(dim), Coupling(dim))])

    def log_prob(self, x):
        total = x.new_zeros(len(x))
        for step in self.steps:
            x, logdet = step(x)
            total = total + logdet
        return total - 0.5 * (x**2 + math.log(2 * math.pi)).sum(1)


def run():
    torch.manual_seed(0)
    flow = Flow()
    opt = torch.optim.Adam(flow.parameters(), lr=1e-2)  # also
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.99)
    scales = []
    for step in range(3):
        x = torch.randn(32, 4) * torch.tensor([1.0, 2.0, 0.5, 3.0]) + 1
        loss = -flow.log_prob(x).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        scales.append(flow.steps[0].log_scale.detach().clone())
        print(f"nll {loss.item():.3f}")
    return scales


def verify(out):
    assert torch.equal(out[0], out[-1])


TRUTH = Truth(
    fault="the optimizer updates parameters that the flow no longer has",
    names=("log_scale",),
    repair=("self.log_scale.copy_(-torch.log(x.std(0) + 1e-6))",),
)
