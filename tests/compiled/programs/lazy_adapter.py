"""Projection made on first use to fit whatever width comes in."""

import torch
import torch.nn as nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Fusion(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.d = d
        self.extra = None
        self.main = nn.Linear(d, d)
        self.out = nn.Linear(d, 1)

    def connect(self, side):
        if self.extra is None:
            self.extra = nn.Linear(side.shape[-1], self.d)  # also
        return self.extra(side)

    def forward(self, x, side):
        return self.out(torch.relu(self.main(x) + side))


def batch():
    return torch.randn(8, 8), torch.randn(8, 5)


def run():
    torch.manual_seed(0)
    net = Fusion()
    fused = torch.compile(net, backend=BACKEND)
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)  # cause
    first = None
    for _ in range(3):
        x, side = batch()
        s = net.connect(side)
        if first is None:
            first = net.extra.weight.detach().clone()
        loss = nn.functional.mse_loss(fused(x, s), side.sum(1, keepdim=True))
        opt.zero_grad()
        loss.backward()
        opt.step()
    return first, net


def right(out):
    first, net = out
    assert not torch.equal(first, net.extra.weight), "the projection never moved"


TRUTH = Truth(
    fault="the projection is born after the optimizer was built",
    names=("extra.weight", "extra.bias"),
    repair=("net.connect(batch()[1])\nopt = torch.optim.Adam(net.parameters(), lr=1e-2)",),
)
