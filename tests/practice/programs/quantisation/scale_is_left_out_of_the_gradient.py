"""A straight-through estimator around the whole fake quantiser: the learned scale gets no gradient."""

import torch
from torch import nn

from tests.practice.truth import Truth


class FakeQuant(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(0.1))

    def forward(self, x):
        q = torch.clamp(torch.round(x / self.scale), -8, 7) * self.scale
        return x + (q - x).detach()  # cause


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 12), FakeQuant(), nn.ReLU(), nn.Linear(12, 2))
    opt = torch.optim.Adam(net.parameters(), 1e-2)
    for _ in range(3):
        opt.zero_grad()
        nn.functional.cross_entropy(net(torch.randn(8, 6)), torch.randint(2, (8,))).backward()
        opt.step()
    return net[1].scale


def verify(scale):
    assert scale.grad is None


TRUTH = Truth(
    fault="the scale is meant to learn and is cut off",
    names=("scale", "detach"),
    repair=("z = torch.clamp(x / self.scale, -8, 7)\nreturn (z + (z.round() - z).detach()) * self.scale",),
)
