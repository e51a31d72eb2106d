"""A running mean in a buffer is updated with the batch's graph."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Whiten(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.register_buffer("mean", torch.zeros(d))

    def forward(self, x):
        self.mean = 0.9 * self.mean + 0.1 * x.mean(0)  # cause
        return x - self.mean


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), Whiten(4), nn.Linear(4, 1))
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    for _ in range(3):
        opt.zero_grad()
        net(torch.randn(8, 3)).pow(2).mean().backward()  # symptom
        opt.step()


TRUTH = Truth(
    fault="the buffer carries the graph of the step before",
    raises="Trying to backward through the graph a second time",
    names=("mean",),
    repair=("self.mean = 0.9 * self.mean + 0.1 * x.mean(0).detach()",),
)
