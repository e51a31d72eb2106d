"""Glow-like flow: ActNorm's 'initialized' is a Python flag, so a loaded model initialises itself anew with its first batch."""

import io
import math

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class ActNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.loc, self.log_scale = nn.Parameter(torch.zeros(dim)), nn.Parameter(torch.zeros(dim))
        self.initialized = False  # cause

    def initialize(self, x):
        with torch.no_grad():
            self.loc.copy_(-x.mean(0))  # also
            self.log_scale.copy_(-(x.std(0) + 1e-6).log())
        self.initialized = True  # cause

    def forward(self, x):
        if not self.initialized:
            self.initialize(x)
        return (x + self.loc) * self.log_scale.exp(), self.log_scale.sum().expand(len(x))


class Coupling(nn.Module):
    def __init__(self, dim, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(dim // 2, 16), nn.ReLU(), nn.Linear(16, dim))
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, x):
        a, b = x.chunk(2, 1)
        if self.flip:
            a, b = b, a
        log_s, t = self.net(a).chunk(2, 1)
        log_s = log_s.tanh()
        b = b * log_s.exp() + t
        return torch.cat([b, a] if self.flip else [a, b], 1), log_s.sum(1)


class Glow(nn.Module):
    def __init__(self, dim=4, depth=2):
        super().__init__()
        self.flows = nn.ModuleList()
        for i in range(depth):
            self.flows += [ActNorm(dim), Coupling(dim, flip=bool(i % 2))]

    def log_prob(self, x):
        total = 0
        for flow in self.flows:
            x, logdet = flow(x)
            total = total + logdet
        return total - 0.5 * (x.pow(2) + math.log(2 * math.pi)).sum(1)


def train(model, steps, lr=0.02):
    optimizer = torch.optim.Adamax(model.parameters(), lr=lr)
    for _ in range(steps):
        loss = -model.log_prob(torch.randn(32, 4) * 2 + 1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def run():
    torch.manual_seed(0)
    model = Glow()
    train(model, 3)
    checkpoint = io.BytesIO()
    torch.save(model.state_dict(), checkpoint)
    checkpoint.seek(0)

    resumed = Glow()
    resumed.load_state_dict(torch.load(checkpoint))
    loaded = resumed.flows[0].loc.detach().clone()
    resumed.log_prob(torch.randn(8, 4) * 2 + 1)  # the log-likelihood of a few samples, to see that loading went well
    used = resumed.flows[0].loc.detach().clone()
    train(resumed, 2)
    return loaded, used


def verify(outcome):
    loaded, used = outcome
    assert not torch.equal(loaded, used)


TRUTH = Truth(
    fault="the flag is not in the state_dict: the first batch after loading overwrites the trained loc and log_scale",
    names=("initialized", "loc"),
    repair=('self.register_buffer("initialized", torch.tensor(False))', "self.initialized.fill_(True)"),
)
