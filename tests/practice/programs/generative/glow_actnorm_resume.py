"""Glow: ActNorm remembers in a Python attribute that it was initialised; after a resume it initialises itself again."""

import io
import math

import torch
from torch import nn

from tests.practice.truth import Truth


class ActNorm(nn.Module):
    """Scale and shift per channel, set from the first batch and learned from there."""

    def __init__(self, dim):
        super().__init__()
        self.loc, self.log_scale = nn.Parameter(torch.zeros(dim)), nn.Parameter(torch.zeros(dim))
        self.initialised = False  # cause

    @torch.no_grad()
    def initialise(self, x):
        self.loc.copy_(-x.mean(0))
        self.log_scale.copy_(-x.std(0).clamp(min=1e-6).log())
        self.initialised |= True

    def forward(self, x):
        if self.training and not self.initialised:
            self.initialise(x)
        return (x + self.loc) * self.log_scale.exp(), self.log_scale.sum().expand(len(x))


class Coupling(nn.Module):
    def __init__(self, dim, hidden=16):
        super().__init__()
        self.half = dim // 2
        self.net = nn.Sequential(nn.Linear(self.half, hidden), nn.ReLU(), nn.Linear(hidden, 2 * (dim - self.half)))
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, x):
        a, b = x[:, : self.half], x[:, self.half :]
        s, t = self.net(a).chunk(2, 1)
        s = torch.tanh(s)
        return torch.cat([b * s.exp() + t, a], 1), s.sum(1)


class Glow(nn.Module):
    def __init__(self, dim=4, depth=3):
        super().__init__()
        self.steps = nn.ModuleList(m for _ in range(depth) for m in (ActNorm(dim), Coupling(dim)))

    def log_prob(self, x):
        logdet = torch.zeros(len(x))
        for step in self.steps:
            x, ld = step(x)
            logdet = logdet + ld
        return logdet - 0.5 * (x.square() + math.log(2 * math.pi)).sum(1)


def train(model, optimizer, steps, offset=0.0):
    model.train()
    for _ in range(steps):
        x = torch.randn(32, 4) * torch.tensor([1.0, 2.0, 0.5, 3.0]) + 1 + offset
        loss = -model.log_prob(x).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()


def build(checkpoint=None):
    model = Glow()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    if checkpoint is not None:
        checkpoint.seek(0)
        state = torch.load(checkpoint)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    return model, optimizer


def run():
    torch.manual_seed(0)
    model, optimizer = build()
    train(model, optimizer, 3)
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)

    resumed, optimizer = build(file)
    train(resumed, optimizer, 1, offset=2.0)
    return model.steps[0].loc.detach(), resumed.steps[0].loc.detach()


def verify(outcome):
    saved, after_one_step = outcome
    assert (saved - after_one_step).abs().max() > 0.5


TRUTH = Truth(
    fault="`initialised` is not in the state_dict: the first batch after the resume overwrites loc and log_scale",
    names=("initialised", "loc", "log_scale"),
    repair=("self.register_buffer('initialised', torch.tensor(False))",),
)
