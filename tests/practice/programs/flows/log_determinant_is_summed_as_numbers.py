"""Coupling layers: the log-determinants are summed as Python numbers."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Coupling(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(2, 4)

    def forward(self, x):
        a, b = x.chunk(2, 1)
        s, t = self.net(a).chunk(2, 1)
        return torch.cat([b * s.exp() + t, a], 1), s.sum(1).mean()


def run():
    torch.manual_seed(0)
    layers = nn.ModuleList(Coupling() for _ in range(3))
    opt = torch.optim.Adam(layers.parameters(), 1e-3)
    for _ in range(2):
        z, log_det = torch.randn(8, 4), 0.0
        for layer in layers:
            z, one = layer(z)
            log_det += float(one)  # cause
        loss = 0.5 * z.pow(2).sum(1).mean() - log_det
        opt.zero_grad()
        loss.backward()
        opt.step()
    return isinstance(log_det, float)


def verify(out):
    assert out


TRUTH = Truth(fault="the log-determinant has no gradient", repair=("log_det = log_det + one",))
