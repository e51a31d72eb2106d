"""Feature normalizer with a learned gain, parts compiled separately."""

import torch
import torch.nn as nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Whiten(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d))
        self.register_buffer("mean", torch.zeros(d))
        self.register_buffer("var", torch.ones(d))

    @torch.no_grad()  # cause
    def normalize(self, x):
        return (x - self.mean) * (self.var + 1e-5).rsqrt() * self.gain

    @torch.no_grad()
    def track(self, x):
        self.mean.lerp_(x.mean(0), 0.1)
        self.var.lerp_(x.var(0), 0.1)

    def forward(self, x):
        if self.training:
            self.track(x)
        return self.normalize(x)


def run():
    torch.manual_seed(0)
    pre, head = Whiten(5), nn.Linear(5, 1)
    pre.compile(backend=BACKEND, fullgraph=True)
    params = [*pre.parameters(), *head.parameters()]
    opt = torch.optim.Adam(params, lr=1e-2)
    for _ in range(4):
        x = torch.randn(16, 5) * 3 + 1
        loss = (head(pre(x)).squeeze(1) - x.sum(1)).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return pre


def right(pre):
    assert not torch.equal(pre.gain, torch.ones(5)), "the gain never moved"


TRUTH = Truth(
    fault="normalize runs under no_grad although it holds a learned gain",
    names=("gain",),
    repair=("@torch.enable_grad()",),
)
